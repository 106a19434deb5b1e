#include "boundaries/directional.h"

namespace rc {
namespace RC_SIMD {
namespace {

// A few doubles in a register, for the rewards: the same operations in the same order as directional_reward, several at
// once (measured: 1.4 us a sentence with the plain loop, of which the latencies of its divisions were a third).
constexpr int kDoubles = Lanes::kNative / 2;
typedef double Doubles __attribute__((vector_size(8 * kDoubles)));
typedef int64_t Longs __attribute__((vector_size(8 * kDoubles)));

inline Doubles root(Doubles x) {
  for (int k = 0; k < kDoubles; k++) x[k] = __builtin_sqrt(x[k]);
  return x;
}

inline Doubles plain_logs(const Doubles& x) {
  Longs bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  // The exponent (a small number, x >= 1) as a double, without a conversion that only AVX-512 has.
  const Longs number = (Longs)((bits >> 52) - 1023) | 0x4330000000000000LL;
  Doubles exponent, m;
  __builtin_memcpy(&exponent, &number, sizeof number);
  exponent -= 0x1p52;
  bits = (bits & 0xfffffffffffffLL) | (int64_t{1023} << 52);
  __builtin_memcpy(&m, &bits, sizeof bits);
  const Longs upper = m > 1.4142135623730951;
  const Doubles half = m * 0.5;
  m = upper ? half : m;
  exponent = upper ? exponent + 1.0 : exponent;
  const Doubles s = (m - 1.0) / (m + 1.0), t = s * s;
  Doubles p = t * (1.0 / 21) + 1.0 / 19;
  p = p * t + 1.0 / 17;
  p = p * t + 1.0 / 15;
  p = p * t + 1.0 / 13;
  p = p * t + 1.0 / 11;
  p = p * t + 1.0 / 9;
  p = p * t + 1.0 / 7;
  p = p * t + 1.0 / 5;
  p = p * t + 1.0 / 3;
  p = p * t + 1.0;
  return exponent * kLog2 + (s * 2.0) * p;
}

// cost[k] = -directional_reward(energy[k]); energies are whole numbers.
void rewards(const double* energy, int64_t n, double kappa, int32_t* cost) {
  for (int64_t at = 0; at < n; at += kDoubles) {
    const int64_t some = n - at < kDoubles ? n - at : kDoubles;
    Doubles e{};
    for (int64_t k = 0; k < some; k++) e[k] = energy[at + k];
    e = (e > 0.0 ? e : e * 0.0) * (1.0 / static_cast<double>(kOne));
    const Doubles q = root(kappa * kappa * e + 1.0);
    const Doubles reward = (q - plain_logs(q + 1.0) - (1.0 - kLog2)) / kappa * static_cast<double>(kOne) + 0.5;
    for (int64_t k = 0; k < some; k++)
      cost[at + k] = reward[k] < 2147483647.0 ? -static_cast<int32_t>(reward[k]) : -2147483647;
  }
}

template <class T>
int64_t costs_of(const T* vectors, const DirectionalDocument& d) {
  double kappa;
  const int64_t wrong = directional_energies<Lanes>(vectors, d, &kappa);
  if (wrong >= 0) return wrong;
  rewards(d.energy, d.row[d.n], kappa, d.cost);
  for (int64_t j = 0; j < d.n; j++) charge_short(d, j);
  return -1;
}

// The cosine of two centred sentences, of which z has the weighted ones.
int64_t cosine(const DirectionalDocument& d, int64_t i, int64_t j, int64_t width) {
  const double weighted = row_dot<Lanes>(d.z + i * width, d.z + j * width, width);
  return quantise(weighted / (d.weight[i] * d.weight[j]));
}

}  // namespace

void lag_products(const DirectionalDocument& d, int64_t lags, int64_t* total) {
  const int64_t width = (d.H + kLanes - 1) / kLanes * kLanes;
  for (int64_t k = 0; k < lags; k++) total[k] = 0;
  for (int64_t j = 1; j < d.n; j++)
    for (int64_t k = 0; k < lags && k < j; k++) total[k] += cosine(d, j - k - 1, j, width);
}

void within_products(const DirectionalDocument& d, int64_t begin, int64_t end, Within* sums) {
  const int64_t width = (d.H + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = begin; i < end; i++) {
    for (int64_t j = i + 1; j < end; j++) {
      if (j - i == 2) continue;
      const bool next = j - i == 1;
      (next ? sums->near : sums->far) += cosine(d, i, j, width);
      (next ? sums->near_pairs : sums->far_pairs)++;
    }
  }
}

int64_t directional_costs(const DirectionalDocument& d) {
  if (d.half) return costs_of(static_cast<const Half*>(d.vectors), d);
  return costs_of(static_cast<const float*>(d.vectors), d);
}

}  // namespace RC_SIMD
}  // namespace rc
