// Any text through the sentence scanner: spans in order and inside the text, none blank, and only white space outside
// them. Built by clang with -fsanitize=fuzzer,address, or by any compiler with -DRC_FUZZ_MAIN: then main() feeds it
// random pieces of text (arguments: how many, seed) or, mutated, the files that it is given.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "sentences/characters.h"
#include "sentences/sentences.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

bool is_space(rc::Kind kind) { return kind == rc::Kind::space || kind == rc::Kind::newline; }

// What is not UTF-8 becomes U+FFFD: the scanner is promised valid text.
std::string valid(const uint8_t* data, size_t size) {
  std::string out;
  for (size_t i = 0; i < size;) {
    const uint8_t lead = data[i];
    const size_t bytes = lead < 0x80                   ? 1
                         : lead >= 0xC2 && lead < 0xE0 ? 2
                         : lead >= 0xE0 && lead < 0xF0 ? 3
                         : lead >= 0xF0 && lead < 0xF5 ? 4
                                                       : 0;
    bool good = bytes > 0 && i + bytes <= size;
    for (size_t k = 1; good && k < bytes; ++k) good = (data[i + k] & 0xC0) == 0x80;
    if (good && lead == 0xE0) good = data[i + 1] >= 0xA0;
    if (good && lead == 0xED) good = data[i + 1] < 0xA0;
    if (good && lead == 0xF0) good = data[i + 1] >= 0x90;
    if (good && lead == 0xF4) good = data[i + 1] < 0x90;
    if (good) {
      out.append(reinterpret_cast<const char*>(data) + i, bytes);
      i += bytes;
    } else {
      out += "\xEF\xBF\xBD";
      ++i;
    }
  }
  return out;
}

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
  // The first byte chooses the options; the text is copied so that a read past its end is seen.
  const auto language = static_cast<rc::Language>((data[0] >> 1) % rc::sentence_tables::language_count);
  const std::string text = valid(data + 1, size - 1);
  const auto n = static_cast<int64_t>(text.size());
  auto* copy = static_cast<unsigned char*>(std::malloc(text.size() + text.empty()));
  std::memcpy(copy, text.data(), text.size());

  std::vector<rc::Span> spans;
  rc::sentence_spans(reinterpret_cast<const char*>(copy), n, language, data[0] & 1, spans);
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
  std::free(copy);
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  static const char* const pieces[] = {". ",
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
                                       "\f"};
  const char* first = argc > 1 ? argv[1] : "20000";
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  if (std::strspn(first, "0123456789") == std::strlen(first)) {
    const long long rounds = std::atoll(first);
    for (long long r = 0; r < rounds; ++r) {
      std::string text(1, static_cast<char>(random()));
      for (size_t k = random() % 40; k > 0; --k) text += pieces[random() % (sizeof pieces / sizeof *pieces)];
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    }
    return 0;
  }
  for (int a = 1; a < argc; ++a) {
    std::ifstream file(argv[a], std::ios::binary);
    const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (int r = 0; r < 200; ++r) {
      std::string text = std::string(1, static_cast<char>(random())) + seed;
      for (size_t k = r ? random() % 20 : 0; k > 0; --k) {
        const size_t at = 1 + random() % text.size();
        if (random() % 2 && at < text.size())
          text.erase(at, random() % 8);
        else
          text.insert(std::min(at, text.size()), pieces[random() % (sizeof pieces / sizeof *pieces)]);
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    }
  }
  return 0;
}
#endif
