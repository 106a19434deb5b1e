#include "similarity/scores.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {

void chunk_scores(const ScoreInput& in, float* out, int threads) {
  constexpr int64_t kStrip = 256;
  const auto cosines_of = RC_PICK(query_cosines);
  std::vector<float> query(in.H), cosine(in.n);
  check(RC_PICK(unit_query)(in.query, in.H, query.data()), "query", "must be finite");
  FirstBad bad;
  parallel_for((in.n + kStrip - 1) / kStrip, threads, 1, [&](int64_t strip) {
    const int64_t first = strip * kStrip;
    bad.report(cosines_of(in, query.data(), first, std::min(in.n, first + kStrip), cosine.data()));
  });
  check(bad.index() < 0, "vectors", "must be finite; row " + std::to_string(bad.index()) + " is not");
  parallel_for((in.chunks + kStrip - 1) / kStrip, threads, 8, [&](int64_t strip) {
    const int64_t last = std::min(in.chunks, (strip + 1) * kStrip);
    for (int64_t c = strip * kStrip; c < last; c++)
      out[c] = span_score(cosine.data(), in.start[c], in.end[c], in.share);
  });
}

}  // namespace rc
