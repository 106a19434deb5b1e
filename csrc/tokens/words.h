// The starts of white-space separated words, as bits.
#pragma once
#include <cstdint>

#include "core/simd.h"

namespace rc {

// White space that parts words whatever the tokenizer. (Others take the rest of ASCII's for control characters.)
inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// clang-format off
RC_DECLARE_SIMD(
  // For 64 bytes of ASCII: bit i is set if byte i is white space. False if a byte is not ASCII.
  bool space_mask(const char* text, uint64_t* spaces);
)
// clang-format on

}  // namespace rc
