#include "boundaries/directional.h"

namespace rc {
namespace RC_SIMD {
namespace {

using V = Lanes::V;

template <class T>
RC_BODY V unit_block(const T* vectors, const DirectionalDocument& d, int64_t i, int64_t c) {
  const T* x = vectors + i * d.H + c;
  const V v = c + kLanes <= d.H ? Lanes::load(x) : Lanes::load_tail(x, d.H - c);
  const V scaled = d.norms[i].scale == 1.f ? v : Lanes::scale(v, d.norms[i].scale);
  return Lanes::scale(scaled, d.norms[i].inverse);
}

template <class T>
void add_unit(const T* vectors, const DirectionalDocument& d, int64_t i, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes)
    Lanes::store(d.sum + c, Lanes::add(Lanes::load(d.sum + c), unit_block(vectors, d, i, c)));
}

template <class T>
void remove_unit(const T* vectors, const DirectionalDocument& d, int64_t i, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes)
    Lanes::store(d.sum + c, Lanes::sub(Lanes::load(d.sum + c), unit_block(vectors, d, i, c)));
}

// z = the unit vector minus the mean of those around it.
template <class T>
void centre(const T* vectors, const DirectionalDocument& d, int64_t i, int64_t count, int64_t width) {
  const float share = 1.f / static_cast<float>(count);
  for (int64_t c = 0; c < width; c += kLanes) {
    const V mean = Lanes::scale(Lanes::load(d.sum + c), share);
    Lanes::store(d.z + i * width + c, Lanes::sub(unit_block(vectors, d, i, c), mean));
  }
}

void scale_row(float* z, int64_t width, float factor) {
  for (int64_t c = 0; c < width; c += kLanes) Lanes::store(z + c, Lanes::scale(Lanes::load(z + c), factor));
}

float squared_distance(const float* a, const float* b, int64_t width) {
  V sum = Lanes::zero();
  for (int64_t c = 0; c < width; c += kLanes) {
    const V difference = Lanes::sub(Lanes::load(a + c), Lanes::load(b + c));
    sum = Lanes::add(sum, Lanes::mul(difference, difference));
  }
  return Lanes::sum(sum);
}

// The concentration of the document, from the distances of neighbours (their squares, quantised and added up).
double concentration(int64_t total, int64_t n) {
  double s2 = static_cast<double>(total) / (static_cast<double>(n - 1) * 2.0 * static_cast<double>(kOne));
  s2 = s2 < 0.3 ? 0.3 : s2 > 0.95 ? 0.95 : s2;
  const double m = __builtin_sqrt(1.0 - s2);
  return 1.8 * m / (1.0 - m * m);
}

// Longer sentences count more: the fourth root of their tokens, with mean 1.
void weights(const DirectionalDocument& d) {
  int64_t tokens = 0;
  for (int64_t i = 0; i < d.n; i++) tokens += d.last[i] - d.first[i];
  const double mean = static_cast<double>(tokens > 1 ? tokens : 1) / static_cast<double>(d.n);
  double sum = 0;
  for (int64_t i = 0; i < d.n; i++) {
    const int64_t own = d.last[i] - d.first[i];
    const double w = __builtin_sqrt(__builtin_sqrt(static_cast<double>(own > 1 ? own : 1) / mean));
    d.weight[i] = w > 0.05 ? w : 0.05;
    sum += d.weight[i];
  }
  const double share = sum / static_cast<double>(d.n);
  for (int64_t i = 0; i < d.n; i++) d.weight[i] /= share;
}

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

// energy of [i, j] = |z_i + ... + z_j|^2 for every chunk that ends with sentence j, a whole number.
void energies(const DirectionalDocument& d, int64_t j, int64_t width) {
  const float* z = d.z + j * width;
  double* out = d.energy + d.row[j] - d.low[j];
  // The chunks that end with the sentence before begin at low[j - 1] or later.
  const double* before = j ? d.energy + d.row[j - 1] - d.low[j - 1] : nullptr;
  const auto own = static_cast<double>(quantise(row_dot<Lanes>(z, z, width)));
  double products = 0;
  out[j] = own;
  for (int64_t i = j - 1; i >= d.low[j]; i--) {
    products += static_cast<double>(quantise(row_dot<Lanes>(d.z + i * width, z, width)));
    out[i] = before[i] + (2 * products + own);
  }
}

// Row by row, so that a row is in the first cache for all that is done with it.
template <class T>
int64_t costs_of(const T* vectors, const DirectionalDocument& d) {
  const int64_t width = (d.H + kLanes - 1) / kLanes * kLanes;
  const bool local = d.n > kReach + 1;
  int64_t count = local ? kReach + 1 : d.n, total = 0;
  for (int64_t c = 0; c < width; c++) d.sum[c] = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!row_norm<Lanes>(vectors + i * d.H, d.H, &d.norms[i])) return i;
    add_unit(vectors, d, i, width);
  }
  weights(d);
  for (int64_t i = 0; i < d.n; i++) {
    if (local && i && i + kReach < d.n) {
      if (!row_norm<Lanes>(vectors + (i + kReach) * d.H, d.H, &d.norms[i + kReach])) return i + kReach;
      add_unit(vectors, d, i + kReach, width);
      count++;
    }
    if (local && i > kReach) {
      remove_unit(vectors, d, i - kReach - 1, width);
      count--;
    }
    centre(vectors, d, i, count, width);
    float* z = d.z + i * width;
    const float square = row_dot<Lanes>(z, z, width);
    scale_row(z, width, square > kNothing ? 1.f / __builtin_sqrtf(square) : 0.f);
    if (i == 0) continue;
    total += quantise(squared_distance(z, z - width, width));
    scale_row(z - width, width, static_cast<float>(d.weight[i - 1]));
    energies(d, i - 1, width);
  }
  scale_row(d.z + (d.n - 1) * width, width, static_cast<float>(d.weight[d.n - 1]));
  energies(d, d.n - 1, width);

  rewards(d.energy, d.row[d.n], concentration(total, d.n), d.cost);
  for (int64_t j = 0; j < d.n; j++) {
    int32_t* cost = d.cost + d.row[j] - d.low[j];
    for (int64_t i = j; i >= d.low[j] && d.last[j] - d.first[i] < d.min_tokens; i--)
      cost[i] += static_cast<int32_t>(1000 * kOne * (d.min_tokens - (d.last[j] - d.first[i])) / d.min_tokens);
  }
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
