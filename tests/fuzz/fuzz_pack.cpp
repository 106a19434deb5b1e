// Any text through the packing stage as windows, sentence groups and a separator hierarchy: chunks in order, within the
// maximum unless one character alone exceeds it, never blank, no character lost, overlap within its limit, no character
// or cluster cut while there was room not to.
#include <algorithm>
#include <memory>

#include "chunks/measure.h"
#include "chunks/pack.h"
#include "core/graphemes.h"
#include "fuzz.h"
#include "sentences/sentences.h"
#include "tokens/token_index.h"

namespace {

using fuzz::require;

bool blank(const char* text, int64_t from, int64_t to, int64_t size) {
  while (from < to) {
    const rc::CodePoint c = rc::decode(text, size, from);
    if (!rc::is_space(c.value)) return false;
    from += c.bytes;
  }
  return true;
}

// A tokenizer that cannot tell a piece's tokens from the document's: every third character, and one more of a piece
// alone.
int64_t odd_count(std::string_view text) {
  return text.empty() ? 0 : 1 + rc::count_code_points(text.data(), static_cast<int64_t>(text.size())) / 3;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  rc::PackOptions options;
  options.max_tokens = 1 + data[0] % 64;
  options.min_tokens = data[1] % (options.max_tokens + 1);
  options.overlap = data[2] % options.max_tokens;
  options.keep = static_cast<rc::Keep>(data[3] % 3);
  const int kind = data[3] / 3 % 4, shape = data[3] / 12 % 4;
  const std::string valid = fuzz::valid_utf8(data + 4, size - 4);
  const fuzz::Copy copy(valid);
  const std::string_view text = copy.view();
  const int64_t n = copy.size();
  if (kind == 1 && options.max_tokens < 4) return 0;  // refused in Python: no room for the largest character

  rc::TokenIndex index = kind == 3 ? rc::TokenIndex(n, rc::Additivity::never) : rc::word_index(text);
  if (kind == 3) {
    int64_t character = 0;
    for (int64_t at = 0; at < n; ++at)
      if (!rc::is_continuation(text[at]) && character++ % 3 == 0) index.add_token(at);
    index.add_words_by_space(text);
  }
  const rc::TokenIndex::Counter counter = odd_count;
  const rc::ByteMeasure bytes(text);
  const rc::CharMeasure characters(text);
  const rc::TokenMeasure tokens(text, index, counter);
  const rc::Measure* measures[] = {&characters, &bytes, &tokens, &tokens};
  const rc::Measure& measure = *measures[kind];

  static const std::vector<std::string> paragraphs = {"\n\n"}, lines = {"\n"}, ends = {". ", "! ", "? "},
                                        spaces = {" "};
  std::vector<rc::Span> sentences;
  std::vector<rc::Level> levels;
  const auto literal = [&](const std::vector<std::string>& separators) {
    rc::Level level;
    level.kind = rc::Level::Kind::literals;
    level.literals = &separators;
    levels.push_back(level);
  };
  if (shape == 1 || shape == 2) literal(paragraphs);
  if (shape == 1) {
    literal(lines);
    literal(ends);
    literal(spaces);
  }
  if (shape == 2) {
    rc::sentence_spans(text.data(), n, rc::Language{}, false, sentences);
    rc::Level level;
    level.kind = data[0] & 64 ? rc::Level::Kind::positions : rc::Level::Kind::starts;
    level.first = sentences.data();
    level.last = sentences.data() + sentences.size();
    levels.push_back(level);
  }
  if (shape != 3) levels.push_back({});

  std::vector<rc::PackedChunk> chunks;
  rc::pack(text, 0, n, measure, levels, options, chunks);
  std::vector<rc::PackedChunk> from_parts;
  const auto own_measure = [&]() -> std::unique_ptr<rc::Measure> {
    if (kind == 0) return std::make_unique<rc::CharMeasure>(text);
    if (kind == 1) return std::make_unique<rc::ByteMeasure>(text);
    return std::make_unique<rc::TokenMeasure>(text, index, counter);
  };
  rc::pack_large(text, own_measure, levels, options, 4, from_parts, 16);
  const auto same = [](const rc::PackedChunk& a, const rc::PackedChunk& b) {
    return a.start == b.start && a.end == b.end && a.tokens == b.tokens;
  };
  require(std::equal(chunks.begin(), chunks.end(), from_parts.begin(), from_parts.end(), same), "parts give the same");
  int64_t reached = 0, before = -1;
  for (const rc::PackedChunk& chunk : chunks) {
    require(before < chunk.start && chunk.start < chunk.end && chunk.end <= n, "chunks in the text, starts in order");
    require(chunk.end > reached, "every chunk has something new");
    const auto inside = [&](int64_t at) { return at < n && rc::is_continuation(text[at]); };
    require(!inside(chunk.start) && !inside(chunk.end), "no character is cut");
    const rc::CodePoint first = rc::decode(text.data(), n, chunk.start);
    // White space may lead where a combining mark makes it the first character of a cluster.
    const bool held = !rc::is_cluster_boundary(text.data(), n, chunk.start + first.bytes, chunk.start);
    require(!rc::is_space(first.value) || held, "no white space at the start");
    require(!rc::is_space(rc::decode(text.data(), n, rc::previous(text.data(), chunk.end)).value), "nor at the end");
    require(chunk.tokens == measure.count(chunk.start, chunk.end), "the tokens of the chunk alone");
    const bool one = rc::count_code_points(text.data() + chunk.start, chunk.end - chunk.start) == 1;
    require(chunk.tokens <= options.max_tokens || one, "the maximum");
    if (options.keep != rc::Keep::drop && chunk.start > reached)
      require(blank(text.data(), reached, chunk.start, n), "nothing is lost");
    if (chunk.start < reached) {
      require(options.overlap > 0, "no overlap where none is asked for");
      require(measure.size(chunk.start, reached) <= options.overlap, "the overlap's limit, in the document's tokens");
    }
    reached = chunk.end;
    before = chunk.start;
  }
  if (options.keep != rc::Keep::drop) require(blank(text.data(), reached, n, n), "nothing is lost at the end");
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  return fuzz::drive(argc, argv,
                     {"a",
                      "word ",
                      "words and words ",
                      " ",
                      "  ",
                      "\n",
                      "\n\n",
                      "\r\n",
                      ". ",
                      "! ",
                      "One. Two. ",
                      "é",
                      "中文",
                      "\xCC\x81",
                      "\xE2\x80\x8D",
                      "👩\xE2\x80\x8D👧",
                      "🇩🇪",
                      "क्षि",
                      "\xC2\xA0",
                      "\xE3\x80\x80",
                      std::string(90, 'x'),
                      std::string(70, ' '),
                      "\xEF\xBF\xBD",
                      std::string(1, '\0')});
}
#endif
