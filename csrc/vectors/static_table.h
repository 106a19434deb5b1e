// Static vectors: a table has a row for each token of a vocabulary, and the vector of a text is the mean of the rows of
// its tokens. Rows are int8 (as a rule with a scale for each), float16 or float32.
#pragma once
#include "core/lanes.h"
#include "core/simd.h"
#include "vectors/pooling.h"

namespace rc {

// One output: the mean of the rows ids[0..n), each times its scale (null: 1), added in that order, and on request
// scaled to length 1. Tokens equal to `skip` are left out; no tokens give zeros. False if the mean is not finite.
template <class L, class T>
RC_BODY bool gather_row(const T* table, const float* scale, int64_t H, const int32_t* ids, int64_t n, int32_t skip,
                        bool normalize, float* out) {
  int64_t kept = 0;
  for (int64_t t = 0; t < n; t++) kept += ids[t] != skip;
  const float share = kept ? 1.f / static_cast<float>(kept) : 0.f;
  for (int64_t c = 0; c < H; c += kLanes) {
    const bool whole = c + kLanes <= H;
    typename L::V sum = L::zero();
    for (int64_t t = 0; t < n; t++) {
      if (ids[t] == skip) continue;
      const T* x = table + ids[t] * H + c;
      const typename L::V row = whole ? L::load(x) : L::load_tail(x, H - c);
      sum = L::add(sum, scale ? L::scale(row, scale[ids[t]]) : row);
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

struct StaticTable {
  enum class Type { int8, half, single };
  const void* rows;  // [tokens, H]
  Type type;
  const float* scale;  // [tokens] or null
  int64_t tokens, H;
  int32_t skip;  // a token that is left out, or -1
};

// Output s is of the ids [offsets[s], offsets[s + 1]). Returns the first output in [first, last) that is not finite, or
// -1.
RC_DECLARE_SIMD(int64_t gather_rows(const StaticTable& table, const int32_t* ids, const int64_t* offsets, int64_t first,
                                    int64_t last, bool normalize, float* out);)

// Throws if an id is not in the table or an output is not finite.
void gather_mean(const StaticTable& table, const int32_t* ids, const int64_t* offsets, int64_t outputs, bool normalize,
                 float* out, int threads);

#endif
}  // namespace rc
