// Any bytes through WordPiece: rows lie in the text and in order, counting equals encoding, a second call (warm cache)
// equals the first, and pieces cut at white space give the rows of the whole.
#include <memory>

#include "fuzz.h"
#include "tokens/wordpiece.h"

namespace {

using fuzz::require;

std::unique_ptr<rc::WordPiece> tokenizer(int kind) {
  std::vector<std::string> vocabulary = {"[UNK]",
                                         "a",
                                         "##a",
                                         "ab",
                                         "##b",
                                         "the",
                                         "##the",
                                         "x",
                                         "##x",
                                         "e",
                                         ".",
                                         "\xe4\xb8\xad",
                                         "[",
                                         "]",
                                         "\xcc\x81",
                                         "##\xcc\x81",
                                         "\xe1\x84\x92",
                                         "##\xe1\x85\xa1",
                                         "##\xe1\x86\xab",
                                         "i"};
  rc::WordPieceOptions options;
  options.lowercase = kind & 1;
  options.strip_accents = kind & 2;
  options.clean_text = kind & 4;
  options.handle_chinese_chars = kind & 8;
  options.max_input_chars_per_word = kind & 1 ? 100 : 5;
  if (kind & 16) {
    const int32_t first = static_cast<int32_t>(vocabulary.size());
    options.added = {{"xx", first, true, false, false, false, false},
                     {"a.", first + 1, false, true, true, true, false},
                     {"[b]", first + 2, false, false, false, false, true}};
    options.encode_special = kind & 2;
  }
  return std::make_unique<rc::WordPiece>(vocabulary, options);
}

const rc::WordPiece& tokenizer_of(int kind) {
  static std::unique_ptr<rc::WordPiece> all[32];
  if (!all[kind]) all[kind] = tokenizer(kind);
  return *all[kind];
}

void require_same(const rc::TokenColumns& a, const rc::TokenColumns& b, int64_t from, int64_t shift, const char* what) {
  require(a.size >= from + b.size, what);
  for (int64_t i = 0; i < b.size; ++i)
    require(a.ids[from + i] == b.ids[i] && a.starts[from + i] == b.starts[i] + shift &&
                a.ends[from + i] == b.ends[i] + shift && a.continues[from + i] == b.continues[i],
            what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int kind = data[0] & 31;
  const rc::WordPiece& wordpiece = tokenizer_of(kind);
  const fuzz::Copy copy({reinterpret_cast<const char*>(data) + 1, size - 1});
  const char* text = copy.data();
  const int64_t n = copy.size();

  rc::TokenColumns whole, again;
  wordpiece.encode(text, n, whole);
  wordpiece.encode(text, n, again);
  require(whole.size == again.size, "as many tokens with a warm cache");
  require_same(whole, again, 0, 0, "the same tokens with a warm cache");
  require(wordpiece.count(text, n) == whole.size, "counting equals encoding");
  require(whole.size <= n, "no more tokens than bytes");
  int64_t last = 0;
  for (int64_t i = 0; i < whole.size; ++i) {
    require(whole.ids[i] >= 0 && whole.ids[i] < wordpiece.vocab_size(), "ids in the vocabulary");
    require(whole.starts[i] >= last && whole.ends[i] > whole.starts[i] && whole.ends[i] <= n, "spans in order");
    require(whole.continues[i] <= (i > 0), "the first token continues nothing");
    last = whole.starts[i];
  }
  // Added tokens may strip white space, so only without them is every space a place to cut.
  for (int64_t at = 1; at < n && !(kind & 16); ++at) {
    if (text[at - 1] != ' ') continue;
    rc::TokenColumns head, tail;
    wordpiece.encode(text, at, head);
    wordpiece.encode(text + at, n - at, tail);
    require(head.size + tail.size == whole.size, "as many tokens in two parts");
    require_same(whole, head, 0, 0, "the same tokens before a cut");
    require_same(whole, tail, head.size, at, "the same tokens after a cut");
    break;
  }
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  return fuzz::drive(argc, argv,
                     {"a",
                      "ab",
                      "the",
                      "xx",
                      "a.",
                      "[b]",
                      " ",
                      " ",
                      "\n",
                      "\t",
                      ".",
                      ",",
                      "X",
                      "E",
                      "\xc3\xa9",
                      "\xcc\x81",
                      "\xcc\xa3",
                      "\xcd\x84",
                      "\xe4\xb8\xad",
                      "\xed\x95\x9c",
                      "\xc4\xb0",
                      "\xe2\x80\x8d",
                      "\xef\xbf\xbd",
                      "\xf0\x9d\x85\xa5",
                      "\xe3\x80\x80",
                      "\xff",
                      "\xe4",
                      "\xed\xa0\x80",
                      "\xf0\x9f",
                      std::string(1, '\0'),
                      std::string(40, 'x'),
                      std::string(120, 'a')});
}
#endif
