#include "tokens/token_index.h"

#include <algorithm>
#include <stdexcept>

#include "core/utf8.h"
#include "tokens/words.h"

namespace rc {
namespace {

constexpr int64_t kRankBytes = 512;

// Bits set in a word, without the call that __builtin_popcountll is on a baseline x86-64.
inline int64_t ones(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555ull;
  word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full;
  return static_cast<int64_t>(word * 0x0101010101010101ull >> 56);
}

// How many bits of [start, end) are set.
int64_t count_bits(const std::vector<uint64_t>& bits, int64_t start, int64_t end) {
  if (start >= end) return 0;
  const int64_t a = start >> 6, b = (end - 1) >> 6;
  const uint64_t first = ~0ull << (start & 63), last = ~0ull >> (63 - ((end - 1) & 63));
  if (a == b) return ones(bits[a] & first & last);
  int64_t n = ones(bits[a] & first) + ones(bits[b] & last);
  for (int64_t i = a + 1; i < b; i++) n += ones(bits[i]);
  return n;
}

// The position of bit number n (from 0) at or after start, or `none`, where it is not before that.
int64_t select_forward(const std::vector<uint64_t>& bits, int64_t start, int64_t n, int64_t none) {
  if (start >= none) return none;
  int64_t i = start >> 6;
  uint64_t word = bits[i] & (~0ull << (start & 63));
  for (;;) {
    const int64_t here = ones(word);
    if (n < here) {
      for (; n > 0; n--) word &= word - 1;
      return std::min(none, i * 64 + __builtin_ctzll(word));
    }
    n -= here;
    if (++i * 64 >= none) return none;
    word = bits[i];
  }
}

// The position of bit number n (from 0) going back from end (exclusive) to low, or -1.
int64_t select_backward(const std::vector<uint64_t>& bits, int64_t end, int64_t n, int64_t low) {
  if (end <= low) return -1;
  int64_t i = (end - 1) >> 6;
  uint64_t word = bits[i] & (~0ull >> (63 - ((end - 1) & 63)));
  for (;;) {
    const int64_t here = ones(word);
    if (n < here) {
      for (; n > 0; n--) word ^= 1ull << (63 - __builtin_clzll(word));
      const int64_t at = i * 64 + 63 - __builtin_clzll(word);
      return at >= low ? at : -1;
    }
    n -= here;
    if (--i < (low >> 6)) return -1;
    word = bits[i];
  }
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A place where every byte-level BPE pre-tokeniser in use starts a new word whatever surrounds it: a single space
// between a visible ASCII character and a letter.
bool is_space_cut(std::string_view text, int64_t at) {
  return at > 0 && at + 1 < static_cast<int64_t>(text.size()) && text[at] == ' ' && text[at - 1] > ' ' &&
         text[at - 1] < 0x7F && is_ascii_letter(text[at + 1]);
}

}  // namespace

TokenIndex::TokenIndex(int64_t bytes, Additivity additivity)
    : bytes_(bytes), additivity_(additivity), tokens_(bytes / 64 + 1), words_(bytes / 64 + 1) {}

void TokenIndex::add_token(int64_t start) {
  uint64_t& word = tokens_[start >> 6];
  const uint64_t bit = 1ull << (start & 63);
  if (word & bit) extra_.push_back(start);
  word |= bit;
}

void TokenIndex::add_tokens(const int64_t* starts, const uint8_t* continues, int64_t n, int64_t shift) {
  // The machine word of the last token stays in registers. (Bits added one by one in memory took 0.1 us more for a
  // sentence of 25 tokens, a fifth of the whole stage.)
  int64_t current = 0;
  uint64_t tokens = tokens_[0], words = words_[0];
  for (int64_t t = 0; t < n; t++) {
    const int64_t at = starts[t] + shift, word = at >> 6;
    if (word != current) {
      tokens_[current] = tokens;
      words_[current] = words;
      current = word;
      tokens = tokens_[word];
      words = words_[word];
    }
    const uint64_t bit = 1ull << (at & 63);
    if (tokens & bit) extra_.push_back(at);
    tokens |= bit;
    words |= continues[t] ? 0 : bit;
  }
  tokens_[current] = tokens;
  words_[current] = words;
}

int64_t TokenIndex::add_byte_level(int64_t at, const int32_t* ids, int64_t n, const int32_t* lengths,
                                   int64_t vocabulary) {
  int64_t current = at >> 6;
  uint64_t bits = tokens_[current];  // in a register as in add_tokens()
  // Lengths are looked up some tokens in advance: the table is large, and the branches below wait for each of them.
  constexpr int64_t kAhead = 256;
  int32_t ahead[kAhead];
  for (int64_t first = 0; first < n; first += kAhead) {
    const int64_t some = std::min(kAhead, n - first);
    for (int64_t i = 0; i < some; i++) {
      const int32_t id = ids[first + i];
      ahead[i] = id >= 0 && id < vocabulary ? lengths[id] : 0;
    }
    for (int64_t i = 0; i < some; i++) {
      if (ahead[i] <= 0 || at + ahead[i] > bytes_)
        throw std::invalid_argument("tokenizer gives ids whose bytes are not the text's");
      if (at >> 6 != current) {
        tokens_[current] = bits;
        current = at >> 6;
        bits = 0;
      }
      bits |= 1ull << (at & 63);
      at += ahead[i];
    }
  }
  tokens_[current] = bits;
  return at;
}

void TokenIndex::join(const TokenIndex& part, int64_t begin) {
  const size_t first = static_cast<size_t>(begin >> 6), n = std::min(part.tokens_.size(), tokens_.size() - first);
  for (size_t i = 0; i < n; i++) {
    tokens_[first + i] |= part.tokens_[i];
    words_[first + i] |= part.words_[i];
  }
  const auto behind = std::lower_bound(extra_.begin(), extra_.end(), begin + part.bytes_);
  const auto added = extra_.insert(behind, part.extra_.begin(), part.extra_.end());
  for (size_t i = 0; i < part.extra_.size(); i++) added[static_cast<std::ptrdiff_t>(i)] += begin;
}

void TokenIndex::add_words_by_space(std::string_view text) {
  const char* data = text.data();
  const auto mask_of = RC_PICK(space_mask);
  bool after_space = true;
  for (int64_t at = 0; at < bytes_;) {
    uint64_t spaces;
    if ((at & 63) == 0 && at + 64 <= bytes_ && mask_of(data + at, &spaces)) {
      words_[at >> 6] |= ~spaces & (spaces << 1 | after_space);
      after_space = spaces >> 63;
      at += 64;
      continue;
    }
    bool space;
    int64_t next = at + 1;
    if (static_cast<int8_t>(data[at]) >= 0) {
      space = is_ascii_space(data[at]);
    } else {
      const CodePoint c = decode(data, bytes_, at);
      space = is_space(c.value);
      next = at + c.bytes;
    }
    if (after_space && !space) add_word(at);
    after_space = space;
    at = next;
  }
}

int64_t TokenIndex::extras(int64_t start, int64_t end) const {
  if (extra_.empty()) return 0;
  return std::lower_bound(extra_.begin(), extra_.end(), end) - std::lower_bound(extra_.begin(), extra_.end(), start);
}

void TokenIndex::set_ids(std::vector<int32_t> ids) {
  ids_ = std::move(ids);
  ranks_.assign(1, 0);
  for (int64_t at = 0; at + kRankBytes <= bytes_; at += kRankBytes)
    ranks_.push_back(ranks_.back() + count_bits(tokens_, at, at + kRankBytes));
}

int64_t TokenIndex::rank(int64_t at) const {
  const int64_t block = at / kRankBytes;
  return ranks_[block] + count_bits(tokens_, block * kRankBytes, at) + extras(0, at);
}

int64_t TokenIndex::starts(int64_t start, int64_t end) const {
  return count_bits(tokens_, start, end) + extras(start, end);
}

int64_t TokenIndex::reach_to(int64_t start, int64_t tokens, int64_t high) const {
  if (start >= high) return high;
  int64_t left = tokens - inside(start);
  if (left < 0) return start;
  for (auto x = std::lower_bound(extra_.begin(), extra_.end(), start); x != extra_.end() && *x < high; ++x) {
    const int64_t upto = count_bits(tokens_, start, *x + 1);
    if (upto > left) break;
    if (upto == left) return *x;
    left -= upto + 1;
    start = *x + 1;
  }
  return select_forward(tokens_, start, left, high);
}

int64_t TokenIndex::back(int64_t end, int64_t tokens) const {
  if (tokens <= 0) return end;
  if (extra_.empty()) return std::max<int64_t>(0, select_backward(tokens_, end, tokens - 1, 0));
  int64_t low = 0, high = end;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (size(middle, end) <= tokens)
      high = middle;
    else
      low = middle + 1;
  }
  return std::min(end, select_forward(tokens_, low, 0, bytes_));
}

int64_t TokenIndex::last_word(int64_t low, int64_t high) const {
  return select_backward(words_, std::min(high, bytes_ - 1) + 1, 0, low);
}

int64_t TokenIndex::first_word(int64_t low, int64_t high) const {
  const int64_t none = std::min(high + 1, bytes_), at = select_forward(words_, low, 0, none);
  return at < none ? at : -1;
}

bool TokenIndex::stands_alone(std::string_view text, int64_t start, int64_t end) const {
  if (additivity_ != Additivity::words) return false;
  // White space beyond ASCII's may be a control character to the tokenizer, which joins what is on its two sides.
  return is_word(start) && (end == bytes_ || is_word(end) || is_blank(text[end]));
}

int64_t TokenIndex::count(std::string_view text, int64_t start, int64_t end, const Counter& counter) const {
  if (start >= end) return 0;
  const auto alone = [&](int64_t a, int64_t b) { return a < b ? counter(text.substr(a, b - a)) : 0; };
  switch (additivity_) {
    case Additivity::always: return size(skip_space(text.data(), start, end), end);  // white space is no token
    case Additivity::words: return stands_alone(text, start, end) ? size(start, end) : alone(start, end);
    case Additivity::spaces: {
      // Only the ends of a piece can differ: from the first to the last safe cut the document's own tokens stand.
      constexpr int64_t NEAR = 256;
      const int64_t first_stop = std::min(end, start + NEAR), last_stop = std::max(start, end - NEAR);
      int64_t first = start + 1, last = end;
      while (first < first_stop && !is_space_cut(text, first)) first++;
      while (last > last_stop && last != bytes_ && !is_space_cut(text, last)) last--;
      if (first >= first_stop || last <= last_stop || first >= last) return alone(start, end);
      return alone(start, first) + size(first, last) + alone(last, end);
    }
    default: return alone(start, end);
  }
}

TokenIndex word_index(std::string_view text) {
  TokenIndex index(static_cast<int64_t>(text.size()), Additivity::always);
  index.add_words_by_space(text);
  index.tokens_ = index.words_;
  return index;
}

}  // namespace rc
