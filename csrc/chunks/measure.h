// How the size of a chunk is measured: bytes, characters, or the tokens of a tokenizer.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/utf8.h"
#include "tokens/token_index.h"

namespace rc {

class Measure {
 public:
  explicit Measure(std::string_view text) : text_(text) {}
  virtual ~Measure() = default;

  // Tokens that overlap [start, end) in the document.
  virtual int64_t size(int64_t start, int64_t end) const = 0;
  // The largest end with size(start, end) <= tokens.
  virtual int64_t reach(int64_t start, int64_t tokens) const = 0;
  // The smaller of `high` and reach(start, tokens), in no more time than it takes to read to `high`.
  virtual int64_t reach_to(int64_t start, int64_t tokens, int64_t high) const = 0;
  // The smallest token start with size(start, end) <= tokens.
  virtual int64_t back(int64_t end, int64_t tokens) const = 0;
  // Tokens that start in [start, end), and whether `at` is inside a token: size(a, b) = starts(a, b) + inside(a).
  virtual int64_t starts(int64_t start, int64_t end) const { return size(start, end); }
  virtual int64_t inside(int64_t) const { return 0; }
  // Tokens of [start, end) tokenised alone.
  virtual int64_t count(int64_t start, int64_t end) const { return size(start, end); }
  // The larger of `low` and back(end, tokens).
  virtual int64_t back_to(int64_t low, int64_t end, int64_t tokens) const {
    const int64_t at = back(end, tokens);
    return at > low ? at : low;
  }

  // The last and the first position in [low, high] where a word starts, or -1.
  virtual int64_t last_word(int64_t low, int64_t high) const;
  virtual int64_t first_word(int64_t low, int64_t high) const;

 protected:
  bool starts_word(int64_t at) const;
  int64_t bytes() const { return static_cast<int64_t>(text_.size()); }
  std::string_view text_;
};

class ByteMeasure final : public Measure {
 public:
  using Measure::Measure;
  int64_t size(int64_t start, int64_t end) const override { return end - start; }
  int64_t reach(int64_t start, int64_t tokens) const override {
    return tokens < bytes() - start ? start + tokens : bytes();
  }
  int64_t reach_to(int64_t start, int64_t tokens, int64_t high) const override {
    return tokens < high - start ? start + tokens : high;
  }
  int64_t back(int64_t end, int64_t tokens) const override { return tokens < end ? end - tokens : 0; }
};

// Code points. For text that is all ASCII, ByteMeasure says the same sooner.
class CharMeasure final : public Measure {
 public:
  explicit CharMeasure(std::string_view text) : Measure(text), count_(RC_PICK(count_code_points)) {}
  int64_t size(int64_t start, int64_t end) const override { return count_(text_.data() + start, end - start); }
  int64_t reach(int64_t start, int64_t tokens) const override;
  int64_t reach_to(int64_t start, int64_t tokens, int64_t high) const override {
    // No text has more characters than bytes.
    if (high - start <= tokens) return high;
    const int64_t at = reach(start, tokens);
    return at < high ? at : high;
  }
  int64_t back(int64_t end, int64_t tokens) const override;
  int64_t count(int64_t start, int64_t end) const override;
  int64_t back_to(int64_t low, int64_t end, int64_t tokens) const override {
    return end - low <= tokens ? low : Measure::back_to(low, end, tokens);
  }

 private:
  decltype(RC_PICK(count_code_points)) count_;
  // What reach() found last: a chunk that starts there ends near it, and is counted from it.
  mutable struct {
    int64_t start = -1, end, tokens;
  } reached_;
};

class TokenMeasure final : public Measure {
 public:
  TokenMeasure(std::string_view text, const TokenIndex& index, const TokenIndex::Counter& counter)
      : Measure(text), index_(index), counter_(counter) {}
  int64_t size(int64_t start, int64_t end) const override { return index_.size(start, end); }
  int64_t reach(int64_t start, int64_t tokens) const override { return index_.reach(start, tokens); }
  int64_t reach_to(int64_t start, int64_t tokens, int64_t high) const override {
    return index_.reach_to(start, tokens, high);
  }
  int64_t back(int64_t end, int64_t tokens) const override { return index_.back(end, tokens); }
  int64_t starts(int64_t start, int64_t end) const override { return index_.starts(start, end); }
  int64_t inside(int64_t at) const override { return index_.inside(at); }
  int64_t count(int64_t start, int64_t end) const override { return index_.count(text_, start, end, counter_); }
  int64_t last_word(int64_t low, int64_t high) const override { return index_.last_word(low, high); }
  int64_t first_word(int64_t low, int64_t high) const override { return index_.first_word(low, high); }

 private:
  const TokenIndex& index_;
  const TokenIndex::Counter& counter_;
};

}  // namespace rc
