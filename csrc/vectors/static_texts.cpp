#include "vectors/static_texts.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/first_bad.h"
#include "core/parallel.h"
#include "tokens/words.h"

namespace rc {
namespace {

// Whether WordPiece gives two neighbours the same tokens together as alone: it starts afresh behind such white space.
bool parted(std::string_view text, const Span& a, const Span& b) {
  return a.end < b.start && is_blank(text[a.end]) && is_blank(text[b.start - 1]);
}

// Appends the ids of spans [s, e), tokenised together; bounds[i] is where those of span s + i end. (The tokenizer is
// fast on long text: 0.45 us for a sentence inside a document, 1.1 us for the same sentence as a text of its own.)
void encode_together(std::string_view text, const Span* spans, int64_t n, const WordPiece& wordpiece,
                     TokenColumns& columns, int64_t* bounds) {
  int64_t kept = columns.size, t = kept;
  wordpiece.encode(text.data() + spans[0].start, spans[n - 1].end - spans[0].start, columns);
  for (int64_t i = 0; i < n; i++) {
    const int64_t from = spans[i].start - spans[0].start, to = spans[i].end - spans[0].start;
    while (t < columns.size && columns.starts[t] < from) t++;  // what is between the spans
    while (t < columns.size && columns.starts[t] < to) columns.ids[kept++] = columns.ids[t++];
    bounds[i] = kept;
  }
  columns.size = kept;
}

// Appends the ids that the document's index knows.
void copy_ids(const TokenIndex& tokens, const Span& span, TokenColumns& columns) {
  const int64_t first = tokens.rank(span.start), n = tokens.starts(span.start, span.end);
  columns.ids.reserve(columns.size + n);
  std::copy_n(tokens.ids() + first, n, columns.ids.data() + columns.size);
  columns.size += n;
}

}  // namespace

void static_vectors(const std::vector<std::string_view>& texts, const int64_t* document, const Span* spans, int64_t n,
                    const WordPiece& wordpiece, const std::vector<TokenIndex>* tokens, const StaticTable& table,
                    bool normalize, float* out, int threads) {
  check(wordpiece.vocab_size() <= table.tokens, "table", "must have a row for each token of the vocabulary");
  // Enough sentences that a thread is worth its start, few enough that their ids stay in the first cache.
  constexpr int64_t kStrip = 64;
  const auto gather = RC_PICK(gather_rows);
  const bool splittable = wordpiece.splittable();
  FirstBad bad;
  parallel_for((n + kStrip - 1) / kStrip, threads, 16, [&](int64_t strip) {
    const int64_t first = strip * kStrip, last = std::min(n, first + kStrip);
    thread_local TokenColumns columns;  // its memory serves the next strip of this thread
    columns.size = 0;
    int64_t offsets[kStrip + 1] = {0};
    for (int64_t s = first, e; s < last; s = e) {
      const std::string_view text = texts[document[s]];
      e = s + 1;
      if (tokens && (*tokens)[document[s]].stands_alone(text, spans[s].start, spans[s].end)) {
        copy_ids((*tokens)[document[s]], spans[s], columns);
        offsets[e - first] = columns.size;
        continue;
      }
      while (splittable && e < last && document[e] == document[s] && parted(text, spans[e - 1], spans[e])) e++;
      encode_together(text, spans + s, e - s, wordpiece, columns, offsets + (s - first + 1));
    }
    const int64_t wrong = gather(table, columns.ids.data(), offsets, 0, last - first, normalize, out + first * table.H);
    if (wrong >= 0) bad.report(first + wrong);
  });
  check(bad.index() < 0, "table", "must be finite; the mean of text " + std::to_string(bad.index()) + " is not");
}

}  // namespace rc
