#include "boundaries/directional.h"

namespace rc {
namespace RC_SIMD {
namespace {

using V = Lanes::V;

template <class T>
V unit_block(const T* vectors, const DirectionalDocument& d, int64_t i, int64_t c) {
  const T* x = vectors + i * d.H + c;
  const V v = c + kLanes <= d.H ? Lanes::load(x) : Lanes::load_tail(x, d.H - c);
  return Lanes::scale(Lanes::scale(v, d.norms[i].scale), d.norms[i].inverse);
}

// z = unit vectors minus the mean of those around them.
template <class T>
void centre(const T* vectors, const DirectionalDocument& d, int64_t width) {
  const bool local = d.n > kReach + 1;
  for (int64_t c = 0; c < width; c += kLanes) {
    V sum = Lanes::zero();
    int64_t count = local ? kReach + 1 : d.n;
    for (int64_t i = 0; i < count; i++) sum = Lanes::add(sum, unit_block(vectors, d, i, c));
    for (int64_t i = 0; i < d.n; i++) {
      if (local && i && i + kReach < d.n) {
        sum = Lanes::add(sum, unit_block(vectors, d, i + kReach, c));
        count++;
      }
      if (local && i > kReach) {
        sum = Lanes::sub(sum, unit_block(vectors, d, i - kReach - 1, c));
        count--;
      }
      const V mean = Lanes::scale(sum, 1.f / static_cast<float>(count));
      Lanes::store(d.z + i * width + c, Lanes::sub(unit_block(vectors, d, i, c), mean));
    }
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

// The concentration of the document, from the distances of neighbours.
double concentration(const DirectionalDocument& d, int64_t width) {
  int64_t total = 0;
  for (int64_t i = 0; i + 1 < d.n; i++)
    total += quantise(squared_distance(d.z + (i + 1) * width, d.z + i * width, width));
  double s2 = static_cast<double>(total) / (static_cast<double>(d.n - 1) * 2.0 * static_cast<double>(kOne));
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

template <class T>
int64_t costs_of(const T* vectors, const DirectionalDocument& d) {
  for (int64_t i = 0; i < d.n; i++)
    if (!row_norm<Lanes>(vectors + i * d.H, d.H, &d.norms[i])) return i;
  const int64_t width = (d.H + kLanes - 1) / kLanes * kLanes;
  centre(vectors, d, width);
  for (int64_t i = 0; i < d.n; i++) {
    float* z = d.z + i * width;
    const float square = row_dot<Lanes>(z, z, width);
    scale_row(z, width, square > kNothing ? 1.f / __builtin_sqrtf(square) : 0.f);
  }
  const double kappa = concentration(d, width);
  weights(d);
  for (int64_t i = 0; i < d.n; i++) scale_row(d.z + i * width, width, static_cast<float>(d.weight[i]));

  for (int64_t j = 0; j < d.n; j++) {  // energy[i] = |z_i + ... + z_j|^2
    const float* z = d.z + j * width;
    const int64_t own = quantise(row_dot<Lanes>(z, z, width));
    int64_t products = 0;
    d.energy[j] = own;
    for (int64_t i = j - 1; i >= d.low[j]; i--) {
      products += quantise(row_dot<Lanes>(d.z + i * width, z, width));
      d.energy[i] += 2 * products + own;
    }
    int32_t* cost = d.cost + d.row[j] - d.low[j];
    for (int64_t i = d.low[j]; i <= j; i++) cost[i] = static_cast<int32_t>(-directional_reward(d.energy[i], kappa));
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
