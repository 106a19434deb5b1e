// The hot loops of reading a page, by blocks of bytes.
#pragma once
#include <cstdint>

#include "core/simd.h"

namespace rc {

// What a run of text holds.
constexpr uint8_t kHtmlVisible = 1;  // a character that is not white space
constexpr uint8_t kHtmlEncoded = 2;  // an ampersand or a carriage return
constexpr int64_t kHtmlRoom = 64;    // bytes behind what is written that html_collapse may write too

// clang-format off
RC_DECLARE_SIMD(
  // The first "<" in [at, end) or end; sets the bits of what is before it.
  int64_t html_text_end(const char* text, int64_t at, int64_t end, uint8_t* seen);
  // Copies n bytes, in which runs of white space (none at the ends) become one space. May read up to text + readable
  // and write up to kHtmlRoom bytes behind. Returns how many bytes it wrote.
  int64_t html_collapse(const char* text, int64_t n, int64_t readable, char* out);
)
// clang-format on

}  // namespace rc
