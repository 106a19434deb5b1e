// Directional cuts: the segmentation whose chunks hold sentences that point in one direction. The method and its
// constants are explained in kernels/reference/directional.py; here is the same arithmetic in the same order.
//
// Floats end with the scalar products, which become integers (2^20 = 1); rewards are doubles made by single IEEE
// operations (the logarithm too) and become integers at once. So every backend finds the same cuts.
#pragma once
#if !defined(__CUDACC__)
#include <memory>
#endif

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

// One document, and the memory for it.
struct DirectionalDocument {
  int64_t n, H;
  const int64_t *first, *last;
  const int64_t* row;  // [n + 1] where the costs begin of the chunks that end with each sentence
  int64_t min_tokens;
  int64_t ring;    // -1, or a mask: of z and norms there are ring + 1 rows, sentence i has row i & ring
  float* z;        // [n or ring + 1, H rounded up to 64] scratch
  float* sum;      // [H rounded up to 64] scratch
  RowNorm* norms;  // [n or ring + 1] scratch
  double* weight;  // [n] scratch
  int32_t* cost;   // [row[n]] result: what chunk [i, j] costs, at row[j] + i - low_of(j); until then products
};

// The first sentence of the longest chunk that ends with sentence j.
RC_BODY int64_t low_of(const DirectionalDocument& d, int64_t j) { return j + 1 - (d.row[j + 1] - d.row[j]); }

// The least ring that has all that a sentence needs: those whose vectors are in the mean around it, and those before it
// in the longest chunk.
constexpr int64_t kRing = 1024;

RC_BODY float* row_of(const DirectionalDocument& d, int64_t i, int64_t width) { return d.z + (i & d.ring) * width; }

// Vectors of the sentences from `begin` on.
template <class T>
struct VectorRows {
  const T* data;
  int64_t begin, end;
};

template <class L, class T>
RC_BODY typename L::V unit_block(const VectorRows<T>& vectors, const DirectionalDocument& d, int64_t i, int64_t c) {
  const T* x = vectors.data + (i - vectors.begin) * d.H + c;
  const typename L::V v = c + kLanes <= d.H ? L::load(x) : L::load_tail(x, d.H - c);
  const RowNorm norm = d.norms[i & d.ring];
  const typename L::V scaled = norm.scale == 1.f ? v : L::scale(v, norm.scale);
  return L::scale(scaled, norm.inverse);
}

template <class L, class T>
RC_BODY void add_unit(const VectorRows<T>& vectors, const DirectionalDocument& d, int64_t i, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes)
    L::store(d.sum + c, L::add(L::load(d.sum + c), unit_block<L>(vectors, d, i, c)));
}

template <class L, class T>
RC_BODY void remove_unit(const VectorRows<T>& vectors, const DirectionalDocument& d, int64_t i, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes)
    L::store(d.sum + c, L::sub(L::load(d.sum + c), unit_block<L>(vectors, d, i, c)));
}

// z = the unit vector minus the mean of those around it.
template <class L, class T>
RC_BODY void centre(const VectorRows<T>& vectors, const DirectionalDocument& d, int64_t i, int64_t count,
                    int64_t width) {
  const float share = 1.f / static_cast<float>(count);
  float* z = row_of(d, i, width);
  for (int64_t c = 0; c < width; c += kLanes) {
    const typename L::V mean = L::scale(L::load(d.sum + c), share);
    L::store(z + c, L::sub(unit_block<L>(vectors, d, i, c), mean));
  }
}

template <class L>
RC_BODY void scale_row(float* z, int64_t width, float factor) {
  for (int64_t c = 0; c < width; c += kLanes) L::store(z + c, L::scale(L::load(z + c), factor));
}

template <class L>
RC_BODY float squared_distance(const float* a, const float* b, int64_t width) {
  typename L::V sum = L::zero();
  for (int64_t c = 0; c < width; c += kLanes) {
    const typename L::V difference = L::sub(L::load(a + c), L::load(b + c));
    sum = L::add(sum, L::mul(difference, difference));
  }
  return L::sum(sum);
}

// The concentration of the document, from the distances of neighbours (their squares, quantised and added up).
RC_BODY double concentration(int64_t total, int64_t n) {
  double s2 = static_cast<double>(total) / (static_cast<double>(n - 1) * 2.0 * static_cast<double>(kOne));
  s2 = s2 < 0.3 ? 0.3 : s2 > 0.95 ? 0.95 : s2;
  const double m = __builtin_sqrt(1.0 - s2);
  return 1.8 * m / (1.0 - m * m);
}

// Longer sentences count more: the fourth root of their tokens, with mean 1, and at most so much that the products of
// two vectors are int32.
constexpr double kHeaviest = 32;
RC_BODY void sentence_weights(const DirectionalDocument& d) {
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
  for (int64_t i = 0; i < d.n; i++) {
    const double w = d.weight[i] / share;
    d.weight[i] = w < kHeaviest ? w : kHeaviest;
  }
}

// What has been done of a document.
struct DirectionalState {
  int64_t known = 0;    // sentences whose vectors are in the sum, or were
  int64_t centred = 0;  // sentences; n + 1 where the last of them is weighted too
  int64_t total = 0;    // the squared distances of neighbours, quantised and added up
  int64_t bad = -1;     // the first vector that is not finite
};

template <class L>
RC_BODY void directional_begin(const DirectionalDocument& d, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes) L::store(d.sum + c, L::zero());
  if (!L::lane()) sentence_weights(d);
  L::meet();
}

// Goes on until another sentence has its vector, centred and weighted, in its row: gives its number; or -1 where there
// are no more, a vector is not finite, or one that is not among `vectors` is needed. What is needed next begins with
// first_needed().
template <class L, class T>
RC_BODY int64_t next_sentence(const VectorRows<T>& vectors, const DirectionalDocument& d, int64_t width,
                              DirectionalState* s) {
  const bool local = d.n > kReach + 1;
  while (s->centred < d.n) {
    const int64_t i = s->centred, beyond = local && i + kReach + 1 < d.n ? i + kReach + 1 : d.n;
    for (; s->known < beyond; s->known++) {
      if (s->known >= vectors.end) return -1;
      if (!row_norm<L>(vectors.data + (s->known - vectors.begin) * d.H, d.H, &d.norms[s->known & d.ring])) {
        s->bad = s->known;
        return -1;
      }
      add_unit<L>(vectors, d, s->known, width);
    }
    const int64_t left = local && i > kReach ? i - kReach : 0;  // sentences that are not around it any more
    if (left) remove_unit<L>(vectors, d, left - 1, width);
    centre<L>(vectors, d, i, s->known - left, width);
    float* z = row_of(d, i, width);
    const float square = row_dot<L>(z, z, width);
    scale_row<L>(z, width, square > kNothing ? 1.f / __builtin_sqrtf(square) : 0.f);
    s->centred++;
    if (i == 0) continue;
    float* before = row_of(d, i - 1, width);
    s->total += quantise(squared_distance<L>(z, before, width));
    scale_row<L>(before, width, static_cast<float>(d.weight[i - 1]));
    return i - 1;
  }
  if (s->centred > d.n) return -1;
  s->centred++;
  scale_row<L>(row_of(d, d.n - 1, width), width, static_cast<float>(d.weight[d.n - 1]));
  return d.n - 1;
}

RC_BODY int64_t first_needed(const DirectionalState& s) { return s.centred > kReach + 1 ? s.centred - kReach - 1 : 0; }

// Where the costs will be: the scalar products of sentence j with those before it in the longest chunk, whole numbers.
template <class L>
RC_BODY void chunk_products(const DirectionalDocument& d, int64_t j, int64_t width) {
  int32_t* product = d.cost + d.row[j];
  const float* z = row_of(d, j, width);
  const int64_t low = low_of(d, j);
  for (int64_t i = j; i >= low; i--)
    product[i - low] = static_cast<int32_t>(quantise(row_dot<L>(row_of(d, i, width), z, width)));
}

// Where the products are: energy[i - low_of(j)] = |z_i + ... + z_j|^2 for every chunk that ends with sentence j, whole
// numbers. `before` are those of the sentence before, which begin with low_of(j - 1).
RC_BODY void chunk_energies(const DirectionalDocument& d, int64_t j, const double* before, double* energy) {
  const int32_t* product = d.cost + d.row[j];
  const int64_t low = low_of(d, j), shift = j ? low - low_of(d, j - 1) : 0;
  const double own = static_cast<double>(product[j - low]);
  double products = 0;
  energy[j - low] = own;
  for (int64_t k = j - 1 - low; k >= 0; k--) {
    products += static_cast<double>(product[k]);
    energy[k] = before[k + shift] + (2 * products + own);
  }
}

// What chunks that end with sentence j and are too short cost besides.
RC_BODY void charge_short(const DirectionalDocument& d, int64_t j) {
  const int64_t low = low_of(d, j);
  int32_t* cost = d.cost + d.row[j] - low;
  for (int64_t i = j; i >= low && d.last[j] - d.first[i] < d.min_tokens; i--)
    cost[i] += static_cast<int32_t>(1000 * kOne * (d.min_tokens - (d.last[j] - d.first[i])) / d.min_tokens);
}

constexpr int kPasses = 4;
constexpr double kUsualLength = 7;  // sentences of a chunk, where the search begins

// The cheapest segmentation with this penalty a chunk; of equal ones each last chunk has the earliest start. best and
// from: [n + 1]. Returns the number of chunks.
RC_BODY int64_t directional_segment(const DirectionalDocument& d, int64_t penalty, const uint8_t* prior, int64_t* best,
                                    int64_t* from) {
  best[0] = 0;
  for (int64_t j = 0; j < d.n; j++) {
    const int64_t low = low_of(d, j);
    const int32_t* c = d.cost + d.row[j] - low;
    int64_t least = best[low] + c[low], arg = low;
    for (int64_t i = low + 1; i <= j; i++) {
      const int64_t value = best[i] + c[i];
      arg = value < least ? i : arg;
      least = value < least ? value : least;
    }
    from[j + 1] = arg;
    // What a cut before the next sentence earns is taken off where chunks that begin with it look for it.
    const int64_t bonus = j + 1 < d.n ? kOne / 4 * prior[j + 1] : 0;
    best[j + 1] = least + penalty - bonus;
  }
  int64_t chunks = 0;
  for (int64_t j = d.n; j > 0; j = from[j]) chunks++;
  return chunks;
}

// The penalty adapts to the length that it finds. Returns the number of chunks.
RC_BODY int64_t directional_adapt(const DirectionalDocument& d, const uint8_t* prior, int64_t* best, int64_t* from) {
  double length = kUsualLength;
  int64_t chunks = 0;
  for (int pass = 0; pass < kPasses; pass++) {
    const double limited = length < 2.0 ? 2.0 : length > 20.0 ? 20.0 : length;
    chunks = directional_segment(d, quantise(0.25 * limited / kUsualLength), prior, best, from);
    length = 0.5 * length + 0.5 * (static_cast<double>(d.n) / static_cast<double>(chunks));
  }
  return chunks;
}

#if !defined(__CUDACC__)

// What the automatic length looks at: cosines of centred sentences, quantised and added up.
struct Within {
  int64_t near, far;              // of pairs of one chunk at distance 1, and from 3 on
  int64_t near_pairs, far_pairs;  // how many
};

RC_DECLARE_SIMD(
    // To be called first.
    void directional_start(const DirectionalDocument& d);
    // Goes on with the vectors of the sentences [begin, end), float or Half, of which the first is first_needed().
    void directional_rows(const void* vectors, bool half, int64_t begin, int64_t end, const DirectionalDocument& d,
                          DirectionalState* s);
    // The costs, once all sentences are done.
    void directional_costs(const DirectionalDocument& d, const DirectionalState& s);
    // After directional_costs: total[k] of the pairs at distance k + 1, k < lags.
    void lag_products(const DirectionalDocument& d, int64_t lags, int64_t* total);
    // After directional_costs: adds the pairs of the chunk [begin, end).
    void within_products(const DirectionalDocument& d, int64_t begin, int64_t end, Within* sums);)

constexpr double kAutomaticLength = -1;

// segment_length: sentences of a chunk, on average, as nearly as the limits allow; 0: found with the penalty that
// adapts; kAutomaticLength: the same, but longer where the similarities reach further.
struct DirectionalRules {
  int64_t min_tokens, max_tokens;
  double segment_length;
};

// Throws if a vector is not finite.
void directional_cuts(const void* vectors, bool half, int64_t H, const SentenceSizes& s, const uint8_t* prior,
                      const DirectionalRules& rules, uint8_t* cut, int threads);

// The same of one document whose vectors come part by part and are not kept (but with kAutomaticLength).
class DirectionalStream {
 public:
  // Keeps the pointers: [n] as in SentenceSizes and above.
  DirectionalStream(int64_t n, const int64_t* first, const int64_t* last, const uint8_t* prior,
                    const DirectionalRules& rules);
  ~DirectionalStream();
  // The next rows, of the same type and width each time. Throws if one is not finite, or there are more than n.
  void add(const void* vectors, bool half, int64_t rows, int64_t H);
  // Throws if there were fewer than n rows. To be called once.
  void cuts(uint8_t* cut);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

#endif
}  // namespace rc
