// Search for literal separators: the last or the first occurrence that lies in a range.
#pragma once
#include <cstdint>

#include "core/simd.h"

namespace rc {

// clang-format off
RC_DECLARE_SIMD(
  // The largest p in [low, high] with text[p, p + length) equal to the needle, or -1. high + length must be within the text.
  int64_t find_last(const char* text, int64_t low, int64_t high, const char* needle, int64_t length);
  // The smallest such p, or -1.
  int64_t find_first(const char* text, int64_t low, int64_t high, const char* needle, int64_t length);
  // The same for the bytes of a set, of which there are 1 to 4.
  int64_t find_last_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length);
  int64_t find_first_of(const char* text, int64_t low, int64_t high, const char* set, int64_t length);
)
// clang-format on

}  // namespace rc
