// Cosine similarity of neighbouring sentences, quantised: round(2^20 * cosine), half away from zero. Everything that
// comes after works on these integers, so every backend cuts alike.
#pragma once
#include "core/lanes.h"
#include "core/simd.h"

namespace rc {

constexpr int32_t kSimilarityOne = 1 << 20;
constexpr int32_t kNoSimilarity = 2147483647;  // after the last sentence of a document

RC_BODY int32_t quantise_cosine(float cosine) {
  const double scaled = static_cast<double>(cosine) * kSimilarityOne;  // exact, and so is the half added to it
  const double rounded = scaled < 0 ? scaled - 0.5 : scaled + 0.5;
  const int32_t q = static_cast<int32_t>(rounded);
  return q > kSimilarityOne ? kSimilarityOne : q < -kSimilarityOne ? -kSimilarityOne : q;
}

template <class L, class T>
RC_BODY int32_t pair_similarity(const T* a, RowNorm p, const T* b, RowNorm q, int64_t H) {
  const float dot =
      p.scale == 1.f && q.scale == 1.f ? row_dot<L>(a, b, H) : row_dot_scaled<L>(a, p.scale, b, q.scale, H);
  return quantise_cosine(dot * p.inverse * q.inverse);
}

// The sum of the unit vectors of rows [first, last), columns [c, c + 64).
template <class L, class T>
RC_BODY typename L::V unit_sum(const T* vectors, const RowNorm* norms, int64_t H, int64_t first, int64_t last,
                               int64_t c) {
  typename L::V sum = L::zero();
  for (int64_t r = first; r < last; r++) {
    const T* x = vectors + r * H + c;
    const typename L::V v = c + kLanes <= H ? L::load(x) : L::load_tail(x, H - c);
    sum = L::add(sum, L::scale(L::scale(v, norms[r].scale), norms[r].inverse));
  }
  return sum;
}

// The cosine between the sums of the unit vectors of rows [first, middle) and [middle, last). A sum whose square is at
// most 2^-40 counts as zero: nothing is left but rounding.
template <class L, class T>
RC_BODY int32_t block_similarity(const T* vectors, const RowNorm* norms, int64_t H, int64_t first, int64_t middle,
                                 int64_t last) {
  typename L::V dot = L::zero(), left = L::zero(), right = L::zero();
  for (int64_t c = 0; c < H; c += kLanes) {
    const typename L::V a = unit_sum<L>(vectors, norms, H, first, middle, c);
    const typename L::V b = unit_sum<L>(vectors, norms, H, middle, last, c);
    dot = L::add(dot, L::mul(a, b));
    left = L::add(left, L::mul(a, a));
    right = L::add(right, L::mul(b, b));
  }
  const float aa = L::sum(left), bb = L::sum(right);
  if (!(aa > 0x1p-40f && bb > 0x1p-40f)) return 0;
  return quantise_cosine(L::sum(dot) * (1.f / __builtin_sqrtf(aa)) * (1.f / __builtin_sqrtf(bb)));
}

// The document that holds row i: the last d with offsets[d] <= i.
RC_BODY int64_t document_of(const int64_t* offsets, int64_t documents, int64_t i) {
  int64_t low = 0, high = documents - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (offsets[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

#if !defined(__CUDACC__)

struct SimilarityInput {
  const void* vectors;  // [n, H], float or Half
  bool half;
  int64_t n, H;
  const int64_t* offsets;  // [documents + 1]
  int64_t documents, block;
};

RC_DECLARE_SIMD(
    // The norms of rows [first, last), norms[0] for the first. Returns the first row that is not finite, or -1.
    int64_t row_norms(const SimilarityInput& in, int64_t first, int64_t last, RowNorm* norms);
    // out[i] for i in [first, last). norms[0] belongs to row `origin`; all rows that the blocks touch have their norm.
    void similarities(const SimilarityInput& in, const RowNorm* norms, int64_t origin, int64_t first, int64_t last,
                      int32_t* out);)

// Throws if a vector is not finite.
void adjacent_similarity(const SimilarityInput& in, int32_t* out, int threads);

#endif
}  // namespace rc
