#include "core/bytes.h"
#include "structure/html_scan.h"

namespace rc {
namespace RC_SIMD {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

// White space that is no space, and all of it.
uint64_t breaks(const Block& block) { return block.in_range('\t', '\n') | block.in_range('\f', '\r'); }

uint64_t first_bits(int64_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

}  // namespace

int64_t html_text_end(const char* text, int64_t at, int64_t end, uint8_t* seen) {
  uint8_t found = 0;
  for (; at + Block::N <= end; at += Block::N) {
    const Block block = Block::load(text + at);
    const uint64_t tags = block.equal('<');
    const int64_t n = tags ? __builtin_ctzll(tags) : Block::N;
    const uint64_t before = first_bits(n);
    found |= before & ~(breaks(block) | block.equal(' ')) ? kHtmlVisible : 0;
    found |= before & (block.equal('&') | block.equal('\r')) ? kHtmlEncoded : 0;
    if (tags) {
      *seen = found;
      return at + n;
    }
  }
  for (; at < end && text[at] != '<'; at++) {
    found |= is_space(text[at]) ? 0 : kHtmlVisible;
    found |= text[at] == '&' || text[at] == '\r' ? kHtmlEncoded : 0;
  }
  *seen = found;
  return at;
}

int64_t html_collapse(const char* text, int64_t n, int64_t readable, char* out) {
  char* to = out;
  int64_t at = 0;
  bool space = false;  // the byte before is white space
  for (; at < n && at + Block::N <= readable; at += Block::N) {
    const int64_t size = n - at < Block::N ? n - at : Block::N;
    const uint64_t within = first_bits(size);
    const Block block = Block::load(text + at);
    uint64_t other = breaks(block) & within;
    const uint64_t all = (block.equal(' ') & within) | other;
    if ((all & (all << 1 | static_cast<uint64_t>(space))) == 0) {
      __builtin_memcpy(to, text + at, Block::N);
      for (; other; other &= other - 1) to[__builtin_ctzll(other)] = ' ';
      to += size;
      space = all >> (size - 1) & 1;
      continue;
    }
    for (int64_t i = at; i < at + size; i++) {
      const bool now = is_space(text[i]);
      *to = now ? ' ' : text[i];
      to += !(now && space);
      space = now;
    }
  }
  for (; at < n; at++) {
    const bool now = is_space(text[at]);
    *to = now ? ' ' : text[at];
    to += !(now && space);
    space = now;
  }
  return to - out;
}

}  // namespace RC_SIMD
}  // namespace rc
