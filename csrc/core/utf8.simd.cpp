// Plain loops that the compiler turns into vector code for each level.
#include "core/utf8.h"

#include "core/bytes.h"

namespace rc {
namespace RC_SIMD {

int64_t count_code_points(const char* text, int64_t size) {
  int64_t continuations = 0;
  int64_t i = 0;
#if defined(__POPCNT__)
  // A register at a time: a byte continues a code point if it lies in [0x80, 0xBF].
  for (; size - i >= Block::N; i += Block::N)
    continuations += __builtin_popcountll(Block::load(text + i).in_range(0x80, 0xBF));
#endif
  // Eight bytes a word: a byte continues a code point if its two high bits are 10. The marks are summed in byte lanes,
  // which hold 255.
  while (size - i >= 8) {
    const int64_t words = size - i >= 8 * 252 ? 252 : (size - i) / 8;
    uint64_t lanes = 0;
    for (int64_t k = 0; k < words; k++) {
      uint64_t word;
      __builtin_memcpy(&word, text + i + 8 * k, 8);
      lanes += (word >> 7) & ~(word >> 6) & 0x0101010101010101ull;
    }
    const uint64_t pairs = (lanes & 0x00FF00FF00FF00FFull) + (lanes >> 8 & 0x00FF00FF00FF00FFull);
    continuations += static_cast<int64_t>(pairs * 0x0001000100010001ull >> 48);
    i += 8 * words;
  }
  for (; i < size; i++) continuations += (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80;
  return size - continuations;
}

bool all_ascii(const char* text, int64_t size) {
  int64_t i = 0;
  for (; i + 1024 <= size; i += 1024) {
    uint8_t any = 0;
    for (int k = 0; k < 1024; k++) any |= static_cast<uint8_t>(text[i + k]);
    if (any & 0x80) return false;
  }
  uint8_t any = 0;
  for (; i < size; i++) any |= static_cast<uint8_t>(text[i]);
  return !(any & 0x80);
}

namespace {

template <class Unit>
int64_t size_of(const Unit* units, int64_t n) {
  // Sums in lanes as wide as a unit, as often as a lane of one byte can take it.
  constexpr int width = 64 / sizeof(Unit);
  int64_t total = n;
  int64_t i = 0;
  while (i + width <= n) {
    Unit lanes[width] = {0};
    for (int block = 0; block < 255 && i + width <= n; block++, i += width)
      for (int k = 0; k < width; k++) {
        const Unit c = units[i + k];
        lanes[k] += (c >= 0x80) + (sizeof(Unit) > 1 && c >= 0x800) + (sizeof(Unit) > 2 && c >= 0x10000);
      }
    for (int k = 0; k < width; k++) total += lanes[k];
  }
  for (; i < n; i++) {
    const uint32_t c = units[i];
    total += (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
  }
  return total;
}

char* encode(uint32_t c, char* out) {
  if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;  // as many bytes as the surrogate would have
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xC0 | c >> 6);
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    *out++ = static_cast<char>(0xE0 | c >> 12);
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  } else {
    *out++ = static_cast<char>(0xF0 | c >> 18);
    *out++ = static_cast<char>(0x80 | (c >> 12 & 0x3F));
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  }
  return out;
}

// Blocks that are all ASCII, which are nearly all of most texts, are narrowed without a branch.
template <class Unit>
void write(const Unit* units, int64_t n, char* out) {
  int64_t i = 0;
  while (i < n) {
    if (i + 32 <= n) {
      uint32_t any = 0;
      for (int k = 0; k < 32; k++) any |= units[i + k];
      if (any < 0x80) {
        for (int k = 0; k < 32; k++) out[k] = static_cast<char>(units[i + k]);
        out += 32;
        i += 32;
        continue;
      }
    }
    const int64_t stop = i + 32 < n ? i + 32 : n;
    for (; i < stop; i++) out = encode(units[i], out);
  }
}

}  // namespace

int64_t utf8_size(const uint8_t* units, int64_t n) { return size_of(units, n); }
int64_t utf8_size(const uint16_t* units, int64_t n) { return size_of(units, n); }
int64_t utf8_size(const uint32_t* units, int64_t n) { return size_of(units, n); }
void write_utf8(const uint8_t* units, int64_t n, char* out) { write(units, n, out); }
void write_utf8(const uint16_t* units, int64_t n, char* out) { write(units, n, out); }
void write_utf8(const uint32_t* units, int64_t n, char* out) { write(units, n, out); }

}  // namespace RC_SIMD
}  // namespace rc
