// UTF-8 as the native core sees it: byte positions in valid UTF-8. Lone surrogates of a Python string arrive as U+FFFD,
// which has as many bytes, so that positions are those of the string given.
#pragma once
#include <cstdint>

#include "core/simd.h"
#include "core/span.h"

namespace rc {

inline bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// The code point at `at` and its number of bytes. Bytes that are not valid UTF-8 decode as one-byte U+FFFD.
struct CodePoint {
  uint32_t value;
  int bytes;
};
CodePoint decode(const char* text, int64_t size, int64_t at);

// The start of the code point before `at` (at > 0).
inline int64_t previous(const char* text, int64_t at) {
  int64_t i = at - 1;
  while (i > 0 && at - i < 4 && is_continuation(text[i])) i--;
  return i;
}

// White space as Python's str.isspace has it.
bool is_space(uint32_t code_point);

inline bool is_ascii_space(char c) {
  // A bit for each of \t \n \v \f \r 1c 1d 1e 1f and the space.
  return static_cast<uint8_t>(c) <= ' ' && (0x1F0003E00ull >> c & 1);
}

inline bool is_visible_ascii(char c) { return static_cast<int8_t>(c) > ' '; }

int64_t skip_space_run(const char* text, int64_t at, int64_t end);
int64_t trim_space_run(const char* text, int64_t start, int64_t end);

// The first position at or after `at` that is not white space, or `end`.
inline int64_t skip_space(const char* text, int64_t at, int64_t end) {
  return at < end && is_visible_ascii(text[at]) ? at : skip_space_run(text, at, end);
}
// The smallest position p >= start such that all of [p, end) is white space.
inline int64_t trim_space(const char* text, int64_t start, int64_t end) {
  while (end > start && is_ascii_space(text[end - 1])) end--;
  return end > start && is_visible_ascii(text[end - 1]) ? end : trim_space_run(text, start, end);
}

// clang-format off
RC_DECLARE_SIMD(
  int64_t count_code_points(const char* text, int64_t size);
  bool all_ascii(const char* text, int64_t size);
  int64_t utf8_size(const uint8_t* units, int64_t n);
  int64_t utf8_size(const uint16_t* units, int64_t n);
  int64_t utf8_size(const uint32_t* units, int64_t n);
  char* write_utf8(const uint8_t* units, int64_t n, char* out);
  char* write_utf8(const uint16_t* units, int64_t n, char* out);
  char* write_utf8(const uint32_t* units, int64_t n, char* out);
)
// clang-format on

int64_t count_code_points(const char* text, int64_t size);
bool all_ascii(const char* text, int64_t size);

// How many bytes a Python string (its units are code points of 1, 2 or 4 bytes) has in UTF-8; and writing them, which
// gives the end of what was written. No unit takes more bytes than 2, 3 or 4.
template <class Unit>
int64_t utf8_size(const Unit* units, int64_t n);
template <class Unit>
char* write_utf8(const Unit* units, int64_t n, char* out);

// Byte positions to code point positions, in place. One pass over the text if they increase; a step back reads again
// what lies between.
void to_code_points(const char* text, int64_t size, int64_t* positions, int64_t n);
// And back.
void to_bytes(const char* text, int64_t size, int64_t* positions, int64_t n);

}  // namespace rc
