// A half-open range of byte positions in one document.
#pragma once
#include <cstdint>

namespace rc {

struct Span {
  int64_t start, end;
  int64_t size() const { return end - start; }
  bool operator==(const Span& o) const { return start == o.start && end == o.end; }
};

}  // namespace rc
