// How the documents of a call are shared among its threads.
#pragma once
#include <cstdint>
#include <vector>

namespace rc {

// Neighbouring documents that one thread works on, or one large document that all threads work on.
struct Work {
  int64_t begin, end;
  bool large;
};

// Runs of documents of about WORK_BYTES; a document of LARGE_BYTES or more stands alone. size(d) may be an estimate.
constexpr int64_t WORK_BYTES = 1 << 18, LARGE_BYTES = 1 << 21;

template <class Size>
std::vector<Work> work_of(int64_t documents, Size size) {
  std::vector<Work> work;
  int64_t begin = 0, bytes = 0;
  const auto close = [&](int64_t end) {
    if (begin < end) work.push_back({begin, end, false});
    begin = end;
    bytes = 0;
  };
  for (int64_t d = 0; d < documents; d++) {
    const int64_t own = size(d);
    if (own >= LARGE_BYTES) {
      close(d);
      work.push_back({d, d + 1, true});
      begin = d + 1;
    } else if ((bytes += own) >= WORK_BYTES) {
      close(d + 1);
    }
  }
  close(documents);
  return work;
}

}  // namespace rc
