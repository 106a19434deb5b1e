#include "boundaries/directional.h"

#include <algorithm>
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

// The memory for one document after the other.
struct Directional {
  std::unique_ptr<float[]> z;  // not set to zero: it is by far the largest
  size_t room = 0;
  std::vector<float> sum;
  std::vector<RowNorm> norms;
  std::vector<int64_t> low, row, best, from;
  std::vector<double> energy, weight;
  std::vector<int32_t> cost;

  void reserve(int64_t n, int64_t width) {
    const auto wanted = static_cast<size_t>(n * width);
    if (wanted > room) {
      z.reset(new float[wanted]);
      room = wanted;
    }
    sum.resize(width);
    norms.resize(n);
    energy.resize(row[n]);
    weight.resize(n);
    best.resize(n + 1);
    from.resize(n + 1);
    cost.resize(row[n]);
  }

  void limits(const int64_t* first, const int64_t* last, int64_t n, int64_t max_tokens) {
    low.resize(n);
    row.assign(n + 1, 0);
    int64_t begin = 0;
    for (int64_t j = 0; j < n; j++) {
      while (begin < j && (last[j] - first[begin] > max_tokens || j - begin >= kLongest)) begin++;
      low[j] = begin;
      row[j + 1] = row[j] + j - begin + 1;
    }
  }

  int64_t segment(const DirectionalDocument& d, int64_t penalty, const uint8_t* prior) {
    return directional_segment(d, penalty, prior, best.data(), from.data());
  }

  // The number of chunks never rises with the penalty: bisects for the one that comes nearest to the length, of two
  // that are as near the one with fewer chunks.
  void meet_length(const DirectionalDocument& d, double length, const uint8_t* prior) {
    const int64_t n = d.n;
    const int64_t wanted = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(n) / length + 0.5));
    int64_t low = -kAllCuts, high = kAllCuts;  // more than wanted below low, at most as many from high on
    int64_t more = n + 1, fewer = 0;           // chunks found there
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const int64_t chunks = segment(d, middle, prior);
      if (chunks == wanted) return;
      (chunks > wanted ? low : high) = middle;
      (chunks > wanted ? more : fewer) = chunks;
    }
    segment(d, fewer == 0 || more - wanted < wanted - fewer ? low : high, prior);
  }
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
void lengthen(Directional* m, const DirectionalDocument& d, int64_t chunks, const uint8_t* prior) {
  if (d.n < kAutomaticFrom) return;
  const int64_t lags = std::min(d.n - 3, kLongest - 1);
  std::vector<int64_t> total(lags);
  RC_PICK(lag_products)(d, lags, total.data());
  const double length = reach(total.data(), d.n, lags);
  if (!(length > static_cast<double>(d.n) / static_cast<double>(chunks))) return;
  if (length <= kSurelyLong) {
    Within w{};
    for (int64_t j = d.n; j > 0; j = m->from[j])
      if (j - m->from[j] >= 4) RC_PICK(within_products)(d, m->from[j], j, &w);
    if (!w.near_pairs || !w.far_pairs) return;
    const double near = static_cast<double>(w.near) / (static_cast<double>(w.near_pairs) * static_cast<double>(kOne));
    const double far = static_cast<double>(w.far) / (static_cast<double>(w.far_pairs) * static_cast<double>(kOne));
    if (!(far / std::max(near, 1e-3) < kFlat)) return;
  }
  m->segment(d, quantise(0.25 * (length / kUsualLength) * (length / kUsualLength)), prior);
}

}  // namespace

void directional_cuts(const void* vectors, bool half, int64_t H, const SentenceSizes& s, const uint8_t* prior,
                      int64_t min_tokens, int64_t max_tokens, double segment_length, uint8_t* cut, int threads) {
  check_limits(min_tokens, max_tokens);
  check(segment_length == kAutomaticLength || segment_length == 0 || (segment_length >= 1 && segment_length <= 1e9),
        "segment_length", "must be from 1 to 1e9, 0 or -1");
  check_sizes(s);
  for (int64_t i = 0; i < s.offsets[s.documents]; i++) check(prior[i] <= 3, "prior", "must be from 0 to 3");
  const auto costs = RC_PICK(directional_costs);
  const int64_t row_bytes = H * (half ? sizeof(Half) : sizeof(float));
  FirstBad bad;
  Memory memory;
  parallel_for(s.documents, threads, 1, [&](int64_t number) {
    const int64_t begin = s.offsets[number], n = s.offsets[number + 1] - begin;
    if (!n) return;
    std::fill_n(cut + begin, n, uint8_t{0});
    const int64_t *first = s.first + begin, *last = s.last + begin;
    const auto lent = memory.lend();
    Directional& m = *lent;
    m.limits(first, last, n, max_tokens);
    m.reserve(n, (H + kLanes - 1) / kLanes * kLanes);
    const DirectionalDocument document{static_cast<const char*>(vectors) + begin * row_bytes,
                                       half,
                                       n,
                                       H,
                                       first,
                                       last,
                                       m.low.data(),
                                       m.row.data(),
                                       min_tokens,
                                       m.z.get(),
                                       m.sum.data(),
                                       m.norms.data(),
                                       m.energy.data(),
                                       m.weight.data(),
                                       m.cost.data()};
    const int64_t wrong = costs(document);
    if (wrong >= 0) return bad.report(begin + wrong);
    if (segment_length > 0)
      m.meet_length(document, segment_length, prior + begin);
    else if (const int64_t chunks = directional_adapt(document, prior + begin, m.best.data(), m.from.data());
             segment_length == kAutomaticLength)
      lengthen(&m, document, chunks, prior + begin);
    for (int64_t j = n; j > 0; j = m.from[j]) cut[begin + j - 1] = 1;
  });
  check(bad.index() < 0, "vectors", "must be finite; row " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
