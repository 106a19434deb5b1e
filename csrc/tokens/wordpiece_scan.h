// The hot loop of WordPiece: cuts text at ASCII white space and punctuation, and looks each piece up in a cache of
// pieces seen before. The key is the piece's own bytes, so nothing is normalised on a hit, in any script.
//
// A piece between ASCII separators can be encoded alone: every ASCII character is a starter, so canonical reordering
// never moves anything across one, and ASCII white space and punctuation end words whatever the options are.
#pragma once
#include <cstdint>

#include "core/simd.h"

namespace rc {

// A cached piece of up to 32 bytes that gives up to N tokens.
template <int N>
struct alignas(64) CachedTokens {
  static constexpr int kBytes = 32, kTokens = N;
  uint64_t key[4];  // the bytes, zero padded
  int32_t ids[kTokens];
  uint8_t starts[kTokens], ends[kTokens], continues[kTokens];  // starts and ends from the piece's first byte
  uint8_t size;                                                // bytes; 0: an unused entry
  uint8_t tokens;
};
// Few tokens: one cache line. Words in scripts that the vocabulary hardly knows fall into many: most of those have a
// place in a second cache, which is looked at after the first.
using CachedPiece = CachedTokens<4>;
using CachedLongPiece = CachedTokens<12>;
static_assert(sizeof(CachedPiece) == 64 && sizeof(CachedLongPiece) == 128, "whole cache lines");

struct PieceScan {
  const char* text;  // [0, size)
  int64_t size;
  int64_t base;  // added to every position written
  CachedPiece* cache;
  CachedLongPiece* long_cache;  // null until a piece needs it
  int shift, long_shift;        // 64 - log2(number of entries)

  // Columns; all null to count only.
  int32_t* ids;
  int64_t* starts;
  int64_t* ends;
  uint8_t* continues;
  int64_t count;

  void* owner;
  // Makes room for `more` tokens after `count`, and the few more rows that a hit writes; may move the columns. No piece
  // gives more tokens than it has bytes.
  void (*grow)(PieceScan& scan, int64_t more);
  // Encodes the piece [start, end) that the caches do not hold, appends its tokens, and keeps them where `hash` says if
  // they fit.
  void (*miss)(PieceScan& scan, int64_t start, int64_t end, uint64_t hash);
};

RC_DECLARE_SIMD(void scan_pieces(PieceScan& scan);)

}  // namespace rc
