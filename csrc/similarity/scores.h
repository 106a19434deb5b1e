// How well chunks answer a query: the largest cosine of a chunk's sentences with it, plus a share of their mean.
#pragma once
#include "core/lanes.h"
#include "core/simd.h"

namespace rc {

// The cosine of a row with a query of length 1. False if the row is not finite.
template <class L, class T>
RC_BODY bool row_cosine(const T* x, const float* query, int64_t H, float* cosine) {
  typename L::V squares = L::zero(), dot = L::zero();  // in one pass over the row: memory is what limits this
  int64_t i = 0;
  for (; i + kLanes <= H; i += kLanes) {
    const typename L::V v = L::load(x + i);
    squares = L::add(squares, L::mul(v, v));
    dot = L::add(dot, L::mul(v, L::load(query + i)));
  }
  if (i < H) {
    const typename L::V v = L::load_tail(x + i, H - i);
    squares = L::add(squares, L::mul(v, v));
    dot = L::add(dot, L::mul(v, L::load_tail(query + i, H - i)));
  }
  const float square = L::sum(squares);
  if (square >= 0x1p-60f && square <= 0x1p60f) {
    *cosine = L::sum(dot) * (1.f / __builtin_sqrtf(square));
    return true;
  }
  RowNorm norm;
  if (!row_norm<L>(x, H, &norm)) return false;
  typename L::V scaled = L::zero();
  for (i = 0; i < H; i += kLanes) {
    const bool whole = i + kLanes <= H;
    const typename L::V v = whole ? L::load(x + i) : L::load_tail(x + i, H - i);
    const typename L::V q = whole ? L::load(query + i) : L::load_tail(query + i, H - i);
    scaled = L::add(scaled, L::mul(L::scale(v, norm.scale), q));
  }
  *cosine = L::sum(scaled) * norm.inverse;
  return true;
}

// The largest of the cosines [first, last), plus `share` of their mean (added one by one, in order); NaN for none.
RC_BODY float span_score(const float* cosine, int64_t first, int64_t last, float share) {
  if (first == last) return __builtin_nanf("");
  float best = cosine[first], sum = 0.f;
  for (int64_t r = first; r < last; r++) {
    best = cosine[r] > best ? cosine[r] : best;
    sum += cosine[r];
  }
  return best + share * (sum * (1.f / static_cast<float>(last - first)));
}

#if !defined(__CUDACC__)

struct ScoreInput {
  const void* vectors;  // [n, H], float or Half
  bool half;
  int64_t n, H;
  const float* query;          // [H]
  const int64_t *start, *end;  // [chunks] the rows of each chunk; chunks may share rows
  int64_t chunks;
  float share;
};

RC_DECLARE_SIMD(
    // out [H] = the query with length 1 (zeros stay zeros). False if it is not finite.
    bool unit_query(const float* query, int64_t H, float* out);
    // cosine[r] for the rows r in [first, last). Returns the first row that is not finite, or -1.
    int64_t query_cosines(const ScoreInput& in, const float* query, int64_t first, int64_t last, float* cosine);)

// Throws if the query or a vector is not finite.
void chunk_scores(const ScoreInput& in, float* out, int threads);

#endif
}  // namespace rc
