#include "vectors/pooling.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {

void pool_spans(const PoolInput& in, int64_t outputs, float* out, int threads) {
  constexpr int64_t kStrip = 64;
  const auto pool = RC_PICK(pool_rows);
  FirstBad bad;
  parallel_for((outputs + kStrip - 1) / kStrip, threads, 1, [&](int64_t strip) {
    bad.report(pool(in, strip * kStrip, std::min(outputs, (strip + 1) * kStrip), out));
  });
  check(bad.index() < 0, "vectors", "must be finite; the mean of span " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
