// Where the tokens of a document start: two bits for each byte of text, so that counting, "the furthest end within n
// tokens" and "the last word start before here" are a few machine words away, at a quarter of the text's own memory.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rc {

// Whether the tokens of a piece of text, cut out and tokenised alone, can be told from the document's tokens.
enum class Additivity {
  always,  // every cut (white-space words)
  words,   // cuts at word boundaries (WordPiece); other pieces are counted again
  spaces,  // cuts before a single space that a letter follows (byte-level BPE); the ends of a piece are counted again
  never,   // every piece is counted again
};

class TokenIndex {
 public:
  // Counts the tokens of a text alone, without special tokens. May be empty where additivity is always.
  using Counter = std::function<int64_t(std::string_view)>;

  TokenIndex() = default;
  TokenIndex(int64_t bytes, Additivity additivity);

  // Building, in order of position. A second token at the same byte is kept as an extra.
  void add_token(int64_t start);
  void add_word(int64_t start) { words_[start >> 6] |= 1ull << (start & 63); }
  // Many tokens at once, at starts[i] + shift; each begins a word unless it continues one.
  void add_tokens(const int64_t* starts, const uint8_t* continues, int64_t n, int64_t shift);
  // Byte-level BPE ids, the first of which begins at `at`: token i covers lengths[ids[i]] bytes. Returns where the last
  // one ends. Throws std::invalid_argument where a length is unknown or the text too short.
  int64_t add_byte_level(int64_t at, const int32_t* ids, int64_t n, const int32_t* lengths, int64_t vocabulary);
  // Takes over the tokens of an index of the bytes from `begin` on, a multiple of 64; of parts in any order.
  void join(const TokenIndex& part, int64_t begin);
  // Word starts by white space, for tokenizers that do not tell their words.
  void add_words_by_space(std::string_view text);
  // The ids of all tokens, in order, once all are added: an encoder need not tokenise again.
  void set_ids(std::vector<int32_t> ids);

  // Tokens that start in [start, end).
  int64_t starts(int64_t start, int64_t end) const;
  // 1 if `at`, where no white space is, lies inside a token.
  int64_t inside(int64_t at) const { return at < bytes_ && !is_token(at); }
  // Tokens that overlap [start, end). A start inside a token counts that token.
  int64_t size(int64_t start, int64_t end) const { return start < end ? starts(start, end) + inside(start) : 0; }
  // The largest end with size(start, end) <= tokens.
  int64_t reach(int64_t start, int64_t tokens) const { return reach_to(start, tokens, bytes_); }
  // The smaller of `high` and reach(start, tokens); reads no further than to it.
  int64_t reach_to(int64_t start, int64_t tokens, int64_t high) const;
  // The smallest token start with size(start, end) <= tokens; end itself if there is none.
  int64_t back(int64_t end, int64_t tokens) const;

  // The last word start in [low, high], or -1; the first, or -1.
  int64_t last_word(int64_t low, int64_t high) const;
  int64_t first_word(int64_t low, int64_t high) const;

  // The tokens that start before `at`, where the ids are known: ids() + rank(start) are those of [start, end).
  bool has_ids() const { return !ranks_.empty(); }
  const int32_t* ids() const { return ids_.data(); }
  int64_t rank(int64_t at) const;

  // Whether [start, end) tokenised alone has the document's tokens, as far as that can be told without tokenising.
  bool stands_alone(std::string_view text, int64_t start, int64_t end) const;
  // The number of tokens of text[start, end) tokenised alone (special tokens not counted).
  int64_t count(std::string_view text, int64_t start, int64_t end, const Counter& counter) const;

  Additivity additivity() const { return additivity_; }
  int64_t bytes() const { return bytes_; }

 private:
  bool is_token(int64_t at) const { return tokens_[at >> 6] >> (at & 63) & 1; }
  bool is_word(int64_t at) const { return words_[at >> 6] >> (at & 63) & 1; }
  int64_t extras(int64_t start, int64_t end) const;

  int64_t bytes_ = 0;
  Additivity additivity_ = Additivity::always;
  std::vector<uint64_t> tokens_, words_;
  std::vector<int64_t> extra_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> ranks_;  // for every kRankBytes bytes: the tokens before them

  friend TokenIndex word_index(std::string_view text);
};

// The index of white-space separated words: every run of characters that are not white space is a token.
TokenIndex word_index(std::string_view text);

}  // namespace rc
