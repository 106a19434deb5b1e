// Directional cuts: the segmentation whose chunks hold sentences that point in one direction. The method and its
// constants are explained in kernels/reference/directional.py; here is the same arithmetic in the same order.
//
// Floats end with the scalar products, which become integers (2^20 = 1); rewards are doubles made by single IEEE
// operations (the logarithm too) and become integers at once. So every backend finds the same cuts.
#pragma once
#include "boundaries/boundaries.h"
#include "core/lanes.h"
#include "core/simd.h"

namespace rc {

constexpr int64_t kReach = 256;       // a sentence is centred on those at most this far away
constexpr int64_t kLongest = 400;     // sentences in a chunk
constexpr float kNothing = 0x1p-40f;  // a centred vector whose square is at most this has no direction
constexpr double kLog2 = 0.6931471805599453;

RC_BODY int64_t quantise(double x) {
  const double scaled = x * static_cast<double>(kOne);
  return static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

// log(x), x >= 1, by the series of atanh: within 2 ulp, and the same bits wherever doubles are IEEE.
RC_BODY double plain_log(double x) {
  int64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  int64_t exponent = (bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffLL) | (int64_t{1023} << 52);
  double m;
  __builtin_memcpy(&m, &bits, 8);
  const bool upper = m > 1.4142135623730951;
  m = upper ? m * 0.5 : m;
  exponent += upper;
  const double s = (m - 1.0) / (m + 1.0), t = s * s;
  double p = 1.0 / 21;
  p = p * t + 1.0 / 19;
  p = p * t + 1.0 / 17;
  p = p * t + 1.0 / 15;
  p = p * t + 1.0 / 13;
  p = p * t + 1.0 / 11;
  p = p * t + 1.0 / 9;
  p = p * t + 1.0 / 7;
  p = p * t + 1.0 / 5;
  p = p * t + 1.0 / 3;
  p = p * t + 1.0;
  return static_cast<double>(exponent) * kLog2 + (s * 2.0) * p;
}

// The reward of a chunk whose vectors add up to a sum with this square (quantised), at most 2^31 - 1.
RC_BODY int64_t directional_reward(int64_t energy, double kappa) {
  const double e = static_cast<double>(energy > 0 ? energy : 0) * (1.0 / static_cast<double>(kOne));
  const double q = __builtin_sqrt(kappa * kappa * e + 1.0);
  const double reward = (q - plain_log(q + 1.0) - (1.0 - kLog2)) / kappa * static_cast<double>(kOne) + 0.5;
  return reward < 2147483647.0 ? static_cast<int64_t>(reward) : 2147483647;
}

#if !defined(__CUDACC__)

struct DirectionalDocument {
  const void* vectors;  // [n, H] of this document, float or Half
  bool half;
  int64_t n, H;
  const int64_t *first, *last;
  const int64_t* low;  // [n] the first sentence of the longest chunk that ends with each sentence
  const int64_t* row;  // [n + 1] where each sentence's costs begin
  int64_t min_tokens;
  float* z;        // [n, H rounded up to 64] scratch
  float* sum;      // [H rounded up to 64] scratch
  RowNorm* norms;  // [n] scratch
  double* energy;  // [row[n]] scratch
  double* weight;  // [n] scratch
  int32_t* cost;   // [row[n]] result: what chunk [i, j] costs, at row[j] + i - low[j]
};

// What the automatic length looks at: cosines of centred sentences, quantised and added up.
struct Within {
  int64_t near, far;              // of pairs of one chunk at distance 1, and from 3 on
  int64_t near_pairs, far_pairs;  // how many
};

RC_DECLARE_SIMD(
    // Returns the first vector that is not finite, or -1.
    int64_t directional_costs(const DirectionalDocument& d);
    // After directional_costs: total[k] of the pairs at distance k + 1, k < lags.
    void lag_products(const DirectionalDocument& d, int64_t lags, int64_t* total);
    // After directional_costs: adds the pairs of the chunk [begin, end).
    void within_products(const DirectionalDocument& d, int64_t begin, int64_t end, Within* sums);)

constexpr double kAutomaticLength = -1;

// segment_length: sentences of a chunk, on average, as nearly as the limits allow; 0: found with the penalty that
// adapts; kAutomaticLength: the same, but longer where the similarities reach further. Throws if a vector is not
// finite.
void directional_cuts(const void* vectors, bool half, int64_t H, const SentenceSizes& s, const uint8_t* prior,
                      int64_t min_tokens, int64_t max_tokens, double segment_length, uint8_t* cut, int threads);

#endif
}  // namespace rc
