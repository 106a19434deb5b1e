#include "structure/separators.h"

#include "core/bytes.h"

namespace rc {
namespace RC_SIMD {
namespace {

// A range is searched a block at a time; where its length is no multiple of a block's, the last block overlaps the one
// before. what.hits gives the mask of a block's matches (candidates, unless what.exact()), what.is_hit says whether one
// place matches.
template <class What>
int64_t last_hit(const What& what, int64_t low, int64_t high) {
  int64_t p = high + 1;  // places below p are still to be seen
  if (p - low < Block::N) {
    while (--p >= low)
      if (what.is_hit(p)) return p;
    return -1;
  }
  while (p > low) {
    const int64_t at = p - Block::N > low ? p - Block::N : low;
    for (uint64_t found = what.hits(at) & (~0ull >> (64 - (p - at))); found;) {
      const int k = 63 - __builtin_clzll(found);
      if (what.exact() || what.is_hit(at + k)) return at + k;
      found ^= 1ull << k;
    }
    p = at;
  }
  return -1;
}

template <class What>
int64_t first_hit(const What& what, int64_t low, int64_t high) {
  int64_t p = low;
  if (high + 1 - p < Block::N) {
    for (; p <= high; p++)
      if (what.is_hit(p)) return p;
    return -1;
  }
  while (p <= high) {
    const int64_t at = p + Block::N <= high + 1 ? p : high + 1 - Block::N;
    for (uint64_t found = what.hits(at) & (~0ull << (p - at)); found; found &= found - 1)
      if (what.exact() || what.is_hit(at + __builtin_ctzll(found))) return at + __builtin_ctzll(found);
    p = at + Block::N;
  }
  return -1;
}

// Candidates are the places whose first and last byte agree.
struct Needle {
  const char *text, *needle;
  int64_t length;
  bool exact() const { return length <= 2; }
  uint64_t hits(int64_t at) const {
    const uint64_t first = Block::load(text + at).equal(needle[0]);
    return first && length > 1 ? first & Block::load(text + at + length - 1).equal(needle[length - 1]) : first;
  }
  bool is_hit(int64_t at) const {
    return text[at] == needle[0] && text[at + length - 1] == needle[length - 1] &&
           (exact() || same_bytes(text + at, needle, length));
  }
};

struct Set {
  const char *text, *set;
  int64_t length;
  static constexpr bool exact() { return true; }
  // One byte is compared twice where there are not four or two: sooner than a loop.
  uint64_t hits(int64_t at) const {
    const Block block = Block::load(text + at);
    const uint64_t two = block.equal(set[0]) | block.equal(set[length > 1]);
    return length > 2 ? two | block.equal(set[2]) | block.equal(set[length - 1]) : two;
  }
  bool is_hit(int64_t at) const {
    bool hit = false;
    for (int64_t k = 0; k < length; k++) hit |= text[at] == set[k];
    return hit;
  }
};

}  // namespace

int64_t find_last(const char* text, int64_t low, int64_t high, const char* needle, int64_t length) {
  return last_hit(Needle{text, needle, length}, low, high);
}

int64_t find_first(const char* text, int64_t low, int64_t high, const char* needle, int64_t length) {
  return first_hit(Needle{text, needle, length}, low, high);
}

int64_t find_last_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length) {
  return last_hit(Set{text, set, length}, low, high);
}

int64_t find_first_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length) {
  return first_hit(Set{text, set, length}, low, high);
}

}  // namespace RC_SIMD
}  // namespace rc
