#include "boundaries/directional.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {
namespace {

constexpr int64_t kAllCuts = int64_t{1} << 30;  // no boundary can be worth this much
// The automatic length (fitted, as the rest is): documents of so many sentences; chunks that are longer than this, or
// whose far pairs are less alike than so many near ones.
constexpr int64_t kAutomaticFrom = 80;
constexpr double kSurelyLong = 22, kFlat = 0.65;

// A document, and the memory for it, which serves the next one.
struct Directional {
  DirectionalDocument d{};
  DirectionalState state;
  std::unique_ptr<float[]> z;  // not set to zero: it may be by far the largest
  size_t room = 0;
  std::vector<float> sum;
  std::vector<RowNorm> norms;
  std::vector<int64_t> row, best, from;
  std::vector<double> weight;
  std::vector<int32_t> cost;

  void start(const int64_t* first, const int64_t* last, int64_t n, int64_t H, const DirectionalRules& rules) {
    limits(first, last, n, rules.max_tokens);
    // The automatic length looks at all vectors again.
    const int64_t ring = n <= kRing || rules.segment_length == kAutomaticLength ? -1 : kRing - 1;
    const int64_t width = (H + kLanes - 1) / kLanes * kLanes, rows = ring < 0 ? n : kRing;
    const auto wanted = static_cast<size_t>(rows * width);
    if (wanted > room) {
      z.reset(new float[wanted]);
      room = wanted;
    }
    sum.resize(width);
    norms.resize(rows);
    weight.resize(n);
    cost.resize(row[n]);
    d = {n,    H,       first,      last,         row.data(),    rules.min_tokens,
         ring, z.get(), sum.data(), norms.data(), weight.data(), cost.data()};
    state = {};
    RC_PICK(directional_start)(d);
  }

  // Goes on with the vectors of the sentences [begin, end).
  void add(const void* vectors, bool half, int64_t begin, int64_t end) {
    RC_PICK(directional_rows)(vectors, half, begin, end, d, &state);
  }

  void cuts(const uint8_t* prior, double segment_length, uint8_t* cut) {
    RC_PICK(directional_costs)(d, state);
    if (d.ring >= 0) d.weight = nullptr, weight = {};
    best.resize(d.n + 1);
    from.resize(d.n + 1);
    if (segment_length > 0) {
      meet_length(segment_length, prior);
    } else {
      const int64_t chunks = directional_adapt(d, prior, best.data(), from.data());
      if (segment_length == kAutomaticLength) lengthen(chunks, prior);
    }
    std::fill_n(cut, d.n, uint8_t{0});
    for (int64_t j = d.n; j > 0; j = from[j]) cut[j - 1] = 1;
  }

 private:
  void limits(const int64_t* first, const int64_t* last, int64_t n, int64_t max_tokens) {
    row.assign(n + 1, 0);
    int64_t begin = 0;
    for (int64_t j = 0; j < n; j++) {
      while (begin < j && (last[j] - first[begin] > max_tokens || j - begin >= kLongest)) begin++;
      row[j + 1] = row[j] + j - begin + 1;
    }
  }

  int64_t segment(int64_t penalty, const uint8_t* prior) {
    return directional_segment(d, penalty, prior, best.data(), from.data());
  }

  // The number of chunks never rises with the penalty: bisects for the one that comes nearest to the length, of two
  // that are as near the one with fewer chunks.
  void meet_length(double length, const uint8_t* prior) {
    const int64_t n = d.n;
    const int64_t wanted = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(n) / length + 0.5));
    int64_t low = -kAllCuts, high = kAllCuts;  // more than wanted below low, at most as many from high on
    int64_t more = n + 1, fewer = 0;           // chunks found there
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const int64_t chunks = segment(middle, prior);
      if (chunks == wanted) return;
      (chunks > wanted ? low : high) = middle;
      (chunks > wanted ? more : fewer) = chunks;
    }
    segment(fewer == 0 || more - wanted < wanted - fewer ? low : high, prior);
  }

  void lengthen(int64_t chunks, const uint8_t* prior);
};

// Lends each thread of a call memory that served a document before: new pages cost more than much of the arithmetic.
class Memory {
 public:
  struct Return {
    Memory* owner;
    void operator()(Directional* m) const {
      const std::lock_guard<std::mutex> lock(owner->mutex_);
      owner->free_.emplace_back(m);
    }
  };
  std::unique_ptr<Directional, Return> lend() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Directional> m = free_.empty() ? std::make_unique<Directional>() : std::move(free_.back());
    if (!free_.empty()) free_.pop_back();
    return {m.release(), Return{this}};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Directional>> free_;
};

// How far the similarity of sentences reaches, in sentences: three times the mean distance under the curve of the
// autocorrelation, as far as it is above its floor.
double reach(const int64_t* total, int64_t n, int64_t lags) {
  std::vector<double> y(lags);
  for (int64_t k = 0; k < lags; k++)
    y[k] = static_cast<double>(total[k]) / (static_cast<double>(n - k - 1) * static_cast<double>(kOne));
  std::vector<double> tail(y.begin() + lags / 4, y.begin() + lags / 2 + 1);
  std::sort(tail.begin(), tail.end());
  const size_t half = tail.size() / 2;
  const double floor = tail.size() % 2 ? tail[half] : (tail[half - 1] + tail[half]) * 0.5;
  for (double& value : y) value -= floor;
  const double least = 0.05 * std::max(y[0], 1e-3);
  int64_t end = lags;
  for (int64_t k = 0; k < lags && end == lags; k++) {
    const double smooth = ((k ? y[k - 1] : 0.0) + y[k] + (k + 1 < lags ? y[k + 1] : 0.0)) / 3.0;
    if (smooth <= least) end = k;
  }
  double mass = 0, moment = 0;
  for (int64_t k = 0; k < std::max<int64_t>(end, 1); k++) {
    const double value = std::max(y[k], 0.0);
    mass += value;
    moment += value * static_cast<double>(k + 1);
  }
  return 3 * moment / std::max(mass, 1e-9);
}

// The automatic length: where similarities reach further than the chunks found, and either far or the chunks are not
// flat inside, chunks of that reach.
void Directional::lengthen(int64_t chunks, const uint8_t* prior) {
  if (d.n < kAutomaticFrom) return;
  const int64_t lags = std::min(d.n - 3, kLongest - 1);
  std::vector<int64_t> total(lags);
  RC_PICK(lag_products)(d, lags, total.data());
  const double length = reach(total.data(), d.n, lags);
  if (!(length > static_cast<double>(d.n) / static_cast<double>(chunks))) return;
  if (length <= kSurelyLong) {
    Within w{};
    for (int64_t j = d.n; j > 0; j = from[j])
      if (j - from[j] >= 4) RC_PICK(within_products)(d, from[j], j, &w);
    if (!w.near_pairs || !w.far_pairs) return;
    const double near = static_cast<double>(w.near) / (static_cast<double>(w.near_pairs) * static_cast<double>(kOne));
    const double far = static_cast<double>(w.far) / (static_cast<double>(w.far_pairs) * static_cast<double>(kOne));
    if (!(far / std::max(near, 1e-3) < kFlat)) return;
  }
  segment(quantise(0.25 * (length / kUsualLength) * (length / kUsualLength)), prior);
}

void check_rules(const DirectionalRules& rules, const uint8_t* prior, int64_t sentences) {
  check_limits(rules.min_tokens, rules.max_tokens);
  const double length = rules.segment_length;
  check(length == kAutomaticLength || length == 0 || (length >= 1 && length <= 1e9), "segment_length",
        "must be from 1 to 1e9, 0 or -1");
  for (int64_t i = 0; i < sentences; i++) check(prior[i] <= 3, "prior", "must be from 0 to 3");
}

void check_finite(int64_t bad) { check(bad < 0, "vectors", "must be finite; row " + std::to_string(bad) + " is not"); }

}  // namespace

void directional_cuts(const void* vectors, bool half, int64_t H, const SentenceSizes& s, const uint8_t* prior,
                      const DirectionalRules& rules, uint8_t* cut, int threads) {
  check_sizes(s);
  check_rules(rules, prior, s.offsets[s.documents]);
  const int64_t row_bytes = H * static_cast<int64_t>(half ? sizeof(Half) : sizeof(float));
  FirstBad bad;
  Memory memory;
  parallel_for(s.documents, threads, 1, [&](int64_t number) {
    const int64_t begin = s.offsets[number], n = s.offsets[number + 1] - begin;
    if (!n) return;
    const auto lent = memory.lend();
    lent->start(s.first + begin, s.last + begin, n, H, rules);
    lent->add(static_cast<const char*>(vectors) + begin * row_bytes, half, 0, n);
    if (lent->state.bad >= 0) return bad.report(begin + lent->state.bad);
    lent->cuts(prior + begin, rules.segment_length, cut + begin);
  });
  check_finite(bad.index());
}

struct DirectionalStream::Work {
  int64_t n;
  const int64_t *first, *last;
  const uint8_t* prior;
  DirectionalRules rules;
  Directional document;
  bool half;
  std::unique_ptr<char[]> rows;  // room for the vectors of the sentences [begin, end), which serves the next ones
  int64_t room = 0;
  int64_t begin = 0, end = 0;
};

DirectionalStream::DirectionalStream(int64_t n, const int64_t* first, const int64_t* last, const uint8_t* prior,
                                     const DirectionalRules& rules)
    : work_(new Work{n, first, last, prior, rules, {}, false, {}}) {
  const int64_t offsets[] = {0, n};
  check_sizes({offsets, first, last, 1});
  check_rules(rules, prior, n);
}

DirectionalStream::~DirectionalStream() = default;

void DirectionalStream::add(const void* vectors, bool half, int64_t rows, int64_t H) {
  Work& w = *work_;
  check(w.end + rows <= w.n, "vectors", "must not be more than the sentences");
  if (!rows) return;
  const int64_t row_bytes = H * static_cast<int64_t>(half ? sizeof(Half) : sizeof(float));
  if (!w.end) {
    w.document.start(w.first, w.last, w.n, H, w.rules);
    w.half = half;
  }
  check(H == w.document.d.H && half == w.half, "vectors", "must have the same type and width each time");
  const int64_t needed = first_needed(w.document.state), kept = w.end - needed;
  const char* left = w.rows.get() + (needed - w.begin) * row_bytes;
  if ((kept + rows) * row_bytes > w.room) {
    w.room = (kept + rows) * row_bytes;
    std::unique_ptr<char[]> larger(new char[w.room]);
    if (kept) std::memcpy(larger.get(), left, kept * row_bytes);
    w.rows = std::move(larger);
  } else if (kept) {
    std::memmove(w.rows.get(), left, kept * row_bytes);
  }
  std::memcpy(w.rows.get() + kept * row_bytes, vectors, rows * row_bytes);
  w.begin = needed;
  w.end += rows;
  w.document.add(w.rows.get(), half, w.begin, w.end);
  check_finite(w.document.state.bad);
}

void DirectionalStream::cuts(uint8_t* cut) {
  Work& w = *work_;
  check(w.end == w.n, "vectors", "must be as many as the sentences");
  w.rows = {};
  if (w.n) w.document.cuts(w.prior, w.rules.segment_length, cut);
}

}  // namespace rc
