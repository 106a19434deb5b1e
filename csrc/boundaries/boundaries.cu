// Candidates and cuts on CUDA: a thread for each document. Scratch memory [n] (for optimal cuts [n + documents]) comes
// from the caller.
#include "boundaries/boundaries.h"

namespace rc {

template <class F>
__device__ void each_document(const int64_t* offsets, int64_t documents, F f) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t d = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; d < documents; d += threads) {
    const int64_t begin = offsets[d], n = offsets[d + 1] - begin;
    if (n) f(d, begin, n);
  }
}

}  // namespace rc

extern "C" __global__ void rc_candidates(const int32_t* similarity, const int64_t* offsets, int64_t documents,
                                         int method, int64_t millionths, int32_t* measure, int32_t* scratch,
                                         uint8_t* candidate) {
  rc::each_document(offsets, documents, [&](int64_t, int64_t at, int64_t n) {
    rc::candidates_document(similarity + at, n, static_cast<rc::Method>(method), millionths, measure + at, scratch + at,
                            candidate + at);
  });
}

extern "C" __global__ void rc_greedy(const int32_t* similarity, const uint8_t* candidate, const int64_t* first,
                                     const int64_t* last, const int64_t* offsets, int64_t documents, int64_t min_tokens,
                                     int64_t max_tokens, int64_t* queue, uint8_t* cut) {
  rc::each_document(offsets, documents, [&](int64_t, int64_t at, int64_t n) {
    rc::greedy_document(similarity + at, candidate + at, first + at, last + at, n, min_tokens, max_tokens, queue + at,
                        cut + at);
  });
}

extern "C" __global__ void rc_optimal(const int32_t* similarity, const int64_t* first, const int64_t* last,
                                      const int64_t* offsets, int64_t documents, int64_t min_tokens, int64_t max_tokens,
                                      int64_t penalty, rc::Cost* cost, int64_t* from, int64_t* full, int64_t* tight,
                                      uint8_t* cut) {
  rc::each_document(offsets, documents, [&](int64_t d, int64_t at, int64_t n) {
    const int64_t own = at + d;  // n + 1 entries a document
    rc::optimal_document(similarity + at, first + at, last + at, n, min_tokens, max_tokens, penalty, cost + own,
                         from + own, full + own, tight + own, cut + at);
  });
}
