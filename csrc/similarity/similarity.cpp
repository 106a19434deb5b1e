#include "similarity/similarity.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {
namespace {

constexpr int64_t kStrip = 32;  // rows that stay in the cache between their norms and their products
constexpr int64_t kGrain = 8;   // strips a thread takes at a time

}  // namespace

void adjacent_similarity(const SimilarityInput& in, int32_t* out, int threads) {
  const auto norms_of = RC_PICK(row_norms);
  const auto similarities_of = RC_PICK(similarities);
  const int64_t strips = (in.n + kStrip - 1) / kStrip;
  const bool pairs = in.block == 1;
  std::vector<RowNorm> norms(pairs ? 0 : in.n);
  FirstBad bad;
  parallel_for(strips, threads, kGrain, [&](int64_t strip) {
    const int64_t first = strip * kStrip, last = std::min(in.n, first + kStrip);
    if (!pairs) return bad.report(norms_of(in, first, last, norms.data() + first));
    RowNorm local[kStrip + 1];  // a pair needs one row beyond the strip
    const int64_t wrong = norms_of(in, first, std::min(in.n, last + 1), local);
    bad.report(wrong);
    if (wrong < 0) similarities_of(in, local, first, first, last, out);
  });
  check(bad.index() < 0, "vectors", "must be finite; row " + std::to_string(bad.index()) + " is not");
  if (pairs) return;
  parallel_for(strips, threads, kGrain, [&](int64_t strip) {
    const int64_t first = strip * kStrip;
    similarities_of(in, norms.data(), 0, first, std::min(in.n, first + kStrip), out);
  });
}

}  // namespace rc
