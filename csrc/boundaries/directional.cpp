#include "boundaries/directional.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {
namespace {

constexpr int kPasses = 4;
constexpr double kUsualLength = 7;  // sentences of a chunk, where the search begins

// The memory of one document.
struct Directional {
  std::vector<float> z;
  std::vector<RowNorm> norms;
  std::vector<int64_t> low, row, energy, best, from;
  std::vector<double> weight;
  std::vector<int32_t> cost;

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

  // The cheapest segmentation with this penalty a chunk; of equal ones each last chunk has the earliest start. Returns
  // the number of chunks.
  int64_t segment(int64_t n, int64_t penalty, const uint8_t* prior) {
    best[0] = 0;
    for (int64_t j = 0; j < n; j++) {
      const int32_t* c = cost.data() + row[j] - low[j];
      int64_t least = best[low[j]] + c[low[j]], arg = low[j];
      for (int64_t i = low[j] + 1; i <= j; i++) {
        const int64_t value = best[i] + c[i];
        arg = value < least ? i : arg;
        least = value < least ? value : least;
      }
      from[j + 1] = arg;
      // What a cut before the next sentence earns is taken off where chunks that begin with it look for it.
      const int64_t bonus = j + 1 < n ? kOne / 4 * prior[j + 1] : 0;
      best[j + 1] = least + penalty - bonus;
    }
    int64_t chunks = 0;
    for (int64_t j = n; j > 0; j = from[j]) chunks++;
    return chunks;
  }
};

}  // namespace

void directional_cuts(const void* vectors, bool half, int64_t H, const SentenceSizes& s, const uint8_t* prior,
                      int64_t min_tokens, int64_t max_tokens, uint8_t* cut, int threads) {
  check_limits(min_tokens, max_tokens);
  check_sizes(s);
  for (int64_t i = 0; i < s.offsets[s.documents]; i++) check(prior[i] <= 3, "prior", "must be from 0 to 3");
  const auto costs = RC_PICK(directional_costs);
  const int64_t row_bytes = H * (half ? sizeof(Half) : sizeof(float));
  FirstBad bad;
  parallel_for(s.documents, threads, 1, [&](int64_t number) {
    const int64_t begin = s.offsets[number], n = s.offsets[number + 1] - begin;
    if (!n) return;
    std::fill_n(cut + begin, n, uint8_t{0});
    const int64_t *first = s.first + begin, *last = s.last + begin;
    Directional m;
    m.limits(first, last, n, max_tokens);
    m.z.resize(n * ((H + kLanes - 1) / kLanes * kLanes));
    m.norms.resize(n);
    m.energy.resize(n);
    m.weight.resize(n);
    m.best.resize(n + 1);
    m.from.resize(n + 1);
    m.cost.resize(m.row[n]);
    const int64_t wrong =
        costs({static_cast<const char*>(vectors) + begin * row_bytes, half, n, H, first, last, m.low.data(),
               m.row.data(), min_tokens, m.z.data(), m.norms.data(), m.energy.data(), m.weight.data(), m.cost.data()});
    if (wrong >= 0) return bad.report(begin + wrong);
    double length = kUsualLength;
    for (int pass = 0; pass < kPasses; pass++) {
      const int64_t penalty = quantise(0.25 * std::min(std::max(length, 2.0), 20.0) / kUsualLength);
      const int64_t chunks = m.segment(n, penalty, prior + begin);
      length = 0.5 * length + 0.5 * (static_cast<double>(n) / static_cast<double>(chunks));
    }
    for (int64_t j = n; j > 0; j = m.from[j]) cut[begin + j - 1] = 1;
  });
  check(bad.index() < 0, "vectors", "must be finite; row " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
