// Document offsets: document d holds the items [offsets[d], offsets[d + 1]).
#pragma once
#include <cstdint>

#include "core/check.h"

namespace rc {

// Offsets start at 0, never fall, and end at n (any end for n < 0). Returns the number of documents.
inline int64_t check_offsets(const int64_t* offsets, int64_t size, int64_t n, const char* name) {
  check(size >= 1, name, "must have at least one entry");
  check(offsets[0] == 0, name, "must start at 0");
  for (int64_t d = 1; d < size; d++) check(offsets[d] >= offsets[d - 1], name, "must not fall");
  check(n < 0 || offsets[size - 1] == n, name, "must end at the number of items");
  return size - 1;
}

}  // namespace rc
