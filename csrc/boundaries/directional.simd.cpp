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

int64_t width_of(const DirectionalDocument& d) { return (d.H + kLanes - 1) / kLanes * kLanes; }

template <class T>
void rows_of(const VectorRows<T>& vectors, const DirectionalDocument& d, DirectionalState* s) {
  const int64_t width = width_of(d);
  for (int64_t j; (j = next_sentence<Lanes>(vectors, d, width, s)) >= 0;) chunk_products<Lanes>(d, j, width);
}

// The cosine of two centred sentences, of which z has the weighted ones.
int64_t cosine(const DirectionalDocument& d, int64_t i, int64_t j, int64_t width) {
  const double weighted = row_dot<Lanes>(row_of(d, i, width), row_of(d, j, width), width);
  return quantise(weighted / (d.weight[i] * d.weight[j]));
}

}  // namespace

void lag_products(const DirectionalDocument& d, int64_t lags, int64_t* total) {
  const int64_t width = width_of(d);
  for (int64_t k = 0; k < lags; k++) total[k] = 0;
  for (int64_t j = 1; j < d.n; j++)
    for (int64_t k = 0; k < lags && k < j; k++) total[k] += cosine(d, j - k - 1, j, width);
}

void within_products(const DirectionalDocument& d, int64_t begin, int64_t end, Within* sums) {
  const int64_t width = width_of(d);
  for (int64_t i = begin; i < end; i++) {
    for (int64_t j = i + 1; j < end; j++) {
      if (j - i == 2) continue;
      const bool next = j - i == 1;
      (next ? sums->near : sums->far) += cosine(d, i, j, width);
      (next ? sums->near_pairs : sums->far_pairs)++;
    }
  }
}

void directional_start(const DirectionalDocument& d) { directional_begin<Lanes>(d, width_of(d)); }

void directional_rows(const void* vectors, bool half, int64_t begin, int64_t end, const DirectionalDocument& d,
                      DirectionalState* s) {
  if (half)
    rows_of(VectorRows<Half>{static_cast<const Half*>(vectors), begin, end}, d, s);
  else
    rows_of(VectorRows<float>{static_cast<const float*>(vectors), begin, end}, d, s);
}

void directional_costs(const DirectionalDocument& d, const DirectionalState& s) {
  const double kappa = concentration(s.total, d.n);
  // The energies of some sentences at a time, and in front of them those of the sentence before.
  constexpr int64_t kSome = 2048;
  double energy[kLongest + kSome];
  double* const some = energy + kLongest;
  const double* before = some;
  for (int64_t j = 0; j < d.n;) {
    const int64_t begin = d.row[j];
    for (; j < d.n && d.row[j + 1] - begin <= kSome; j++) {
      double* out = some + (d.row[j] - begin);
      chunk_energies(d, j, before, out);
      before = out;
    }
    rewards(some, d.row[j] - begin, kappa, d.cost + begin);
    const int64_t last = d.row[j] - d.row[j - 1];
    __builtin_memmove(some - last, before, static_cast<size_t>(last) * sizeof(double));
    before = some - last;
  }
  for (int64_t j = 0; j < d.n; j++) charge_short(d, j);
}

}  // namespace RC_SIMD
}  // namespace rc
