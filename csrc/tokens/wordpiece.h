// WordPiece as BERT uses it: normalise, split at white space and punctuation, then take the longest piece of the
// vocabulary again and again. Ids and spans equal those of Hugging Face `tokenizers` (BertNormalizer, BertPreTokenizer,
// WordPiece).
//
// Text is UTF-8 and positions are bytes of the text as given. What is not UTF-8 is read as U+FFFD, one for each maximal
// invalid part, as Python's errors="replace" does. Every call is linear in the text, whatever it holds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tokens/wordpiece_columns.h"

namespace rc {

// A token matched in the text itself, before words are split. See `tokenizers.AddedToken`.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool normalized = false;   // matched in the normalised text
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool single_word = false;  // only where no word character touches it
  bool special = false;      // matched only where encode_special says so
};

struct WordPieceOptions {
  bool clean_text = true;            // drop control characters, make all white space blanks
  bool handle_chinese_chars = true;  // every CJK ideograph is a word
  bool strip_accents = true;         // decompose (NFD) and drop nonspacing marks
  bool lowercase = true;
  std::string unk = "[UNK]";
  std::string prefix = "##";  // of pieces that continue a word
  int64_t max_input_chars_per_word = 100;
  bool encode_special = false;  // false: special tokens in the text are text
  std::vector<AddedToken> added;
};

class WordPiece {
 public:
  // `vocabulary`: the tokens in the order of their ids. Throws std::invalid_argument when a token is repeated, `unk` is
  // missing, or an added token is empty, repeated or has an unusable id.
  WordPiece(std::vector<std::string> vocabulary, WordPieceOptions options);
  ~WordPiece();
  WordPiece(const WordPiece&) = delete;
  WordPiece& operator=(const WordPiece&) = delete;

  // Appends the text's tokens to `out`. Thread-safe: each call borrows caches of its own (2 MiB, and 1 MiB for
  // words of many tokens; kept for later calls).
  void encode(const char* text, int64_t size, TokenColumns& out) const;
  int64_t count(const char* text, int64_t size) const;

  // Many documents at once, long ones cut at white space. offsets[0..n] are the rows where documents begin and end. The
  // result does not depend on `threads`.
  void encode(const char* const* texts, const int64_t* sizes, int64_t n, int threads, TokenColumns& out,
              int64_t* offsets) const;
  void count(const char* const* texts, const int64_t* sizes, int64_t n, int threads, int64_t* counts) const;

  // Whether a text may be cut behind white space without changing a token (not so with some added tokens).
  bool splittable() const;
  // Whether added tokens are looked for in the text, which then need not respect words.
  bool matches_added() const;
  int64_t vocab_size() const;  // with added tokens
  int32_t unk_id() const;
  int32_t token_to_id(const std::string& token) const;  // -1: not in the vocabulary
  const std::vector<std::string>& vocabulary() const;
  const WordPieceOptions& options() const;

 private:
  struct Model;
  struct Scratch;
  class Encoder;
  std::unique_ptr<Model> model_;
};

}  // namespace rc
