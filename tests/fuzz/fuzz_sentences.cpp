// Any text through the sentence scanner: spans in order and inside the text, none blank, and only white space outside
// them.
#include "fuzz.h"
#include "sentences/characters.h"
#include "sentences/sentences.h"

namespace {

using fuzz::require;

bool is_space(rc::Kind kind) { return kind == rc::Kind::space || kind == rc::Kind::newline; }

void require_blank(const unsigned char* text, int64_t from, int64_t to) {
  while (from < to) {
    const rc::Character c = rc::decode(text, from, to);
    require(is_space(rc::kind_of(c.code)), "text lies outside every sentence");
    from += c.bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the options.
  const auto language = static_cast<rc::Language>((data[0] >> 1) % rc::sentence_tables::language_count);
  const fuzz::Copy text(fuzz::valid_utf8(data + 1, size - 1));
  const auto* copy = reinterpret_cast<const unsigned char*>(text.data());
  const int64_t n = text.size();

  std::vector<rc::Span> spans;
  rc::sentence_spans(text.data(), n, language, data[0] & 1, spans);
  int64_t position = 0;
  for (const rc::Span& span : spans) {
    require(position <= span.start && span.start < span.end && span.end <= n, "spans in order");
    require_blank(copy, position, span.start);
    const int64_t last = rc::before(copy, span.end);
    require(!is_space(rc::kind_of(rc::decode(copy, last, n).code)), "a sentence ends with white space");
    const rc::Character first = rc::decode(copy, span.start, n);
    if (is_space(rc::kind_of(first.code))) {
      require(span.start + first.bytes < span.end, "a sentence is blank");
      const rc::Character mark = rc::decode(copy, span.start + first.bytes, n);
      require(rc::kind_of(mark.code) == rc::Kind::mark, "a sentence begins with white space");
    }
    position = span.end;
  }
  require_blank(copy, position, n);
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  return fuzz::drive(argc, argv,
                     {". ",
                      "! ",
                      "?",
                      "...",
                      "…",
                      "\"",
                      "“",
                      "”",
                      "„",
                      "«",
                      "»",
                      "(",
                      ")",
                      "[",
                      "]",
                      "'",
                      "\n",
                      "\n\n",
                      "\r\n",
                      " ",
                      "A",
                      "b",
                      "The ",
                      "he ",
                      "i ",
                      "Mr",
                      "Dr.",
                      "U.S.",
                      "a.m.",
                      "z. B.",
                      "12.",
                      "1) ",
                      "(i) ",
                      "II",
                      "world",
                      "。",
                      "！",
                      "「",
                      "」",
                      "と",
                      "日本",
                      "．",
                      "３",
                      "।",
                      "॥",
                      "१",
                      "؟",
                      ":",
                      ";",
                      "λ",
                      "Ա",
                      "։",
                      "\xCC\x81",
                      "\xE2\x80\x8D",
                      "😀",
                      ":)",
                      "•",
                      "- ",
                      "# ",
                      "---",
                      "|",
                      "*",
                      "[1]",
                      ".11 ",
                      "¹",
                      "—",
                      ".NET",
                      "x@y.z",
                      "\xE3\x80\x80",
                      "\xC2\xA0",
                      "‼",
                      "\xE2\x80\xA8",
                      "\xE2\x80\xA9",
                      "\f"});
}
#endif
