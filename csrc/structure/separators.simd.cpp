#include "structure/separators.h"

#include "core/bytes.h"

namespace rc {
namespace RC_SIMD {

// A block holds the candidates whose first and last byte agree; each is then compared whole.
int64_t find_last(const char* text, int64_t low, int64_t high, const char* needle, int64_t length) {
  const char first = needle[0], last = needle[length - 1];
  int64_t p = high + 1;  // candidates below p are still to be seen
  while (p - low >= Block::N) {
    const int64_t at = p - Block::N;
    uint64_t hits = Block::load(text + at).equal(first);
    if (hits && length > 1) hits &= Block::load(text + at + length - 1).equal(last);
    while (hits) {
      const int k = 63 - __builtin_clzll(hits);
      if (length <= 2 || same_bytes(text + at + k, needle, length)) return at + k;
      hits ^= 1ull << k;
    }
    p = at;
  }
  for (int64_t k = p - 1; k >= low; k--)
    if (text[k] == first && same_bytes(text + k, needle, length)) return k;
  return -1;
}

int64_t find_first(const char* text, int64_t low, int64_t high, const char* needle, int64_t length) {
  const char first = needle[0], last = needle[length - 1];
  int64_t p = low;
  while (high - p + 1 >= Block::N) {
    uint64_t hits = Block::load(text + p).equal(first);
    if (hits && length > 1) hits &= Block::load(text + p + length - 1).equal(last);
    while (hits) {
      const int k = __builtin_ctzll(hits);
      if (length <= 2 || same_bytes(text + p + k, needle, length)) return p + k;
      hits &= hits - 1;
    }
    p += Block::N;
  }
  for (; p <= high; p++)
    if (text[p] == first && same_bytes(text + p, needle, length)) return p;
  return -1;
}

namespace {

// Two bytes are compared again rather than none: sets are short, and loops over them are slow.
uint64_t any_of(const Block& block, const char* set, int64_t length) {
  const uint64_t hits = block.equal(set[0]) | block.equal(set[length > 1 ? 1 : 0]);
  return length > 2 ? hits | block.equal(set[2]) | block.equal(set[length - 1]) : hits;
}

bool is_any_of(char c, const char* set, int64_t length) {
  for (int64_t k = 0; k < length; k++)
    if (c == set[k]) return true;
  return false;
}

}  // namespace

int64_t find_last_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length) {
  int64_t p = high + 1;
  for (; p - low >= Block::N; p -= Block::N)
    if (const uint64_t hits = any_of(Block::load(text + p - Block::N), set, length))
      return p - Block::N + 63 - __builtin_clzll(hits);
  for (int64_t k = p - 1; k >= low; k--)
    if (is_any_of(text[k], set, length)) return k;
  return -1;
}

int64_t find_first_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length) {
  int64_t p = low;
  for (; high - p + 1 >= Block::N; p += Block::N)
    if (const uint64_t hits = any_of(Block::load(text + p), set, length)) return p + __builtin_ctzll(hits);
  for (; p <= high; p++)
    if (is_any_of(text[p], set, length)) return p;
  return -1;
}

}  // namespace RC_SIMD
}  // namespace rc
