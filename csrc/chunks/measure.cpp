#include "chunks/measure.h"

#include <cstring>

namespace rc {

bool Measure::starts_word(int64_t at) const {
  const char* text = text_.data();
  if (at >= bytes() || is_continuation(text[at]) || is_space(decode(text, bytes(), at).value)) return false;
  return at == 0 || is_space(decode(text, bytes(), previous(text, at)).value);
}

int64_t Measure::last_word(int64_t low, int64_t high) const {
  for (int64_t at = high; at >= low; at--)
    if (starts_word(at)) return at;
  return -1;
}

int64_t Measure::first_word(int64_t low, int64_t high) const {
  for (int64_t at = low; at <= high; at++)
    if (starts_word(at)) return at;
  return -1;
}

int64_t CharMeasure::reach(int64_t start, int64_t tokens) const {
  // Eight bytes at a time: a byte starts a code point unless its two high bits are 10.
  const char* text = text_.data();
  const int64_t end = bytes();
  int64_t at = start;
  while (at + 8 <= end && tokens >= 8) {
    uint64_t word;
    std::memcpy(&word, text + at, 8);
    tokens -= 8 - __builtin_popcountll((word >> 7) & ~(word >> 6) & 0x0101010101010101ull);
    at += 8;
  }
  for (; at < end; at++) {
    if (is_continuation(text[at])) continue;
    if (tokens-- == 0) break;
  }
  return at;
}

int64_t CharMeasure::back(int64_t end, int64_t tokens) const {
  const char* text = text_.data();
  int64_t at = end;
  while (at >= 8 && tokens >= 8) {
    uint64_t word;
    std::memcpy(&word, text + at - 8, 8);
    tokens -= 8 - __builtin_popcountll((word >> 7) & ~(word >> 6) & 0x0101010101010101ull);
    at -= 8;
  }
  // The loop may stop inside a character, of which it has not counted the first byte.
  while (at < end && is_continuation(text[at])) at++;
  while (at > 0 && tokens > 0) {
    at = previous(text, at);
    tokens--;
  }
  return at;
}

}  // namespace rc
