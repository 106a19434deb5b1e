// Ragged mean pooling: rows of a matrix (token vectors) become one row for each output (sentence vectors).
#pragma once
#include "core/lanes.h"
#include "core/simd.h"

namespace rc {

// Scales a row to length 1, if asked to. False if it is not finite.
template <class L>
RC_BODY bool finish_row(float* out, int64_t H, bool normalize) {
  RowNorm norm;
  if (!row_norm<L>(out, H, &norm)) return false;
  if (!normalize) return true;
  for (int64_t c = 0; c < H; c += kLanes) {
    if (c + kLanes <= H)
      L::store(out + c, L::scale(L::scale(L::load(out + c), norm.scale), norm.inverse));
    else
      L::store_tail(out + c, L::scale(L::scale(L::load_tail(out + c, H - c), norm.scale), norm.inverse), H - c);
  }
  return true;
}

// One output: the mean of the rows in the ranges [start[p], end[p]), p in [first, last), added in that order, times the
// reciprocal of their number, and on request scaled to length 1. No rows give zeros. False if the mean is not finite.
template <class L, class T>
RC_BODY bool pool_row(const T* vectors, int64_t H, const int64_t* start, const int64_t* end, int64_t first,
                      int64_t last, bool normalize, float* out) {
  int64_t rows = 0;
  for (int64_t p = first; p < last; p++) rows += end[p] - start[p];
  const float share = rows ? 1.f / static_cast<float>(rows) : 0.f;
  for (int64_t c = 0; c < H; c += kLanes) {
    const bool whole = c + kLanes <= H;
    typename L::V sum = L::zero();
    for (int64_t p = first; p < last; p++) {
      const T* x = vectors + start[p] * H + c;
      for (int64_t r = start[p]; r < end[p]; r++, x += H)
        sum = L::add(sum, whole ? L::load(x) : L::load_tail(x, H - c));
    }
    sum = L::scale(sum, share);
    if (whole)
      L::store(out + c, sum);
    else
      L::store_tail(out + c, sum, H - c);
  }
  return finish_row<L>(out, H, normalize);
}

#if !defined(__CUDACC__)

struct PoolInput {
  const void* vectors;  // [rows, H], float or Half
  bool half;
  int64_t H;
  const int64_t *start, *end;  // row ranges
  const int64_t* offsets;      // output s has the ranges [offsets[s], offsets[s + 1]); null: one range each
  bool normalize;
};

// Outputs [first, last). Returns the first output that is not finite, or -1.
RC_DECLARE_SIMD(int64_t pool_rows(const PoolInput& in, int64_t first, int64_t last, float* out);)

// Throws if an output is not finite.
void pool_spans(const PoolInput& in, int64_t outputs, float* out, int threads);

#endif
}  // namespace rc
