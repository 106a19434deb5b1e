#include "vectors/static_table.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {

void gather_mean(const StaticTable& table, const int32_t* ids, const int64_t* offsets, int64_t outputs, bool normalize,
                 float* out, int threads) {
  constexpr int64_t kStrip = 64;
  const auto gather = RC_PICK(gather_rows);
  FirstBad unknown, bad;
  parallel_for((outputs + kStrip - 1) / kStrip, threads, 1, [&](int64_t strip) {
    const int64_t first = strip * kStrip, last = std::min(outputs, first + kStrip);
    for (int64_t t = offsets[first]; t < offsets[last]; t++)
      if (ids[t] < 0 || ids[t] >= table.tokens) return unknown.report(t);
    bad.report(gather(table, ids, offsets, first, last, normalize, out));
  });
  check(unknown.index() < 0, "ids",
        "must be below the " + std::to_string(table.tokens) + " rows of the table; id " +
            std::to_string(unknown.index()) + " is not");
  check(bad.index() < 0, "table", "must be finite; the mean of text " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
