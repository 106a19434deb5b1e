#include "vectors/static_texts.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"

namespace rc {

void static_vectors(const std::vector<std::string_view>& texts, const int64_t* document, const Span* spans, int64_t n,
                    const WordPiece& wordpiece, const StaticTable& table, bool normalize, float* out, int threads) {
  check(wordpiece.vocab_size() <= table.tokens, "table", "must have a row for each token of the vocabulary");
  // Enough sentences that a thread is worth its start, few enough that their ids stay in the first cache.
  constexpr int64_t kStrip = 64;
  const auto gather = RC_PICK(gather_rows);
  FirstBad bad;
  parallel_for((n + kStrip - 1) / kStrip, threads, 16, [&](int64_t strip) {
    const int64_t first = strip * kStrip, last = std::min(n, first + kStrip);
    thread_local TokenColumns columns;  // its memory serves the next strip of this thread
    columns.size = 0;
    int64_t offsets[kStrip + 1] = {0};
    for (int64_t s = first; s < last; s++) {
      wordpiece.encode(texts[document[s]].data() + spans[s].start, spans[s].size(), columns);
      offsets[s - first + 1] = columns.size;
    }
    const int64_t wrong = gather(table, columns.ids.data(), offsets, 0, last - first, normalize, out + first * table.H);
    if (wrong >= 0) bad.report(first + wrong);
  });
  check(bad.index() < 0, "table", "must be finite; the mean of text " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
