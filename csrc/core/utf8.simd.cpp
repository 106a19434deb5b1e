// Loops over text and strings, compiled for each level.
#include "core/utf8.h"

#include "core/bytes.h"

namespace rc {
namespace RC_SIMD {

// A byte continues a code point if its two high bits are 10: as a signed number it is below -64.
int64_t count_code_points(const char* text, int64_t size) {
  int64_t continuations = 0;
  int64_t i = 0;
#if defined(__AVX512BW__)
  const __m512i limit = _mm512_set1_epi8(-64);
  for (; size - i >= 64; i += 64)
    continuations += __builtin_popcountll(_mm512_cmplt_epi8_mask(_mm512_loadu_si512(text + i), limit));
  const __mmask64 rest = ~(~0ull << (size - i));
  return size - continuations -
         __builtin_popcountll(_mm512_cmplt_epi8_mask(_mm512_maskz_loadu_epi8(rest, text + i), limit));
#elif defined(__AVX2__)
  // Counted in byte lanes, which hold 255.
  const __m256i limit = _mm256_set1_epi8(-64), zero = _mm256_setzero_si256();
  while (size - i >= 32) {
    const int64_t stop = i + (size - i < 255 * 32 ? (size - i) / 32 * 32 : 255 * 32);
    __m256i lanes = zero;
    for (; i < stop; i += 32) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + i));
      lanes = _mm256_sub_epi8(lanes, _mm256_cmpgt_epi8(limit, bytes));
    }
    const __m256i sums = _mm256_sad_epu8(lanes, zero);
    const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    continuations += _mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1);
  }
#endif
  // Eight bytes a word, the marks summed in byte lanes.
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
  // Summed in numbers as wide as a unit, so that the compiler keeps them in lanes of that width.
  constexpr int64_t most = sizeof(Unit) == 1 ? 255 : 1 << 14;
  int64_t total = n;
  for (int64_t i = 0; i < n;) {
    const int64_t stop = n - i < most ? n : i + most;
    Unit sum = 0;
    for (; i < stop; i++)
      sum += (units[i] >= 0x80) + (sizeof(Unit) > 1 && units[i] >= 0x800) + (sizeof(Unit) > 2 && units[i] >= 0x10000);
    total += sum;
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

// Narrows a block of units to bytes at `out`, and gives the mask of those that are not ASCII, whose bytes are wrong.
#if defined(__AVX2__)
constexpr int N = 32;

__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void store(char* out, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), v); }

uint64_t narrow(const uint8_t* units, char* out) {
  const __m256i v = load(units);
  store(out, v);
  return static_cast<uint32_t>(_mm256_movemask_epi8(v));
}

uint64_t narrow(const uint16_t* units, char* out) {
  const __m256i a = load(units), b = load(units + 16), high = _mm256_set1_epi16(static_cast<short>(0xFF80));
  store(out, _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8));
  if (_mm256_testz_si256(_mm256_or_si256(a, b), high)) return 0;
  const __m256i zero = _mm256_setzero_si256();
  const __m256i ascii = _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_and_si256(a, high), zero),
                                           _mm256_cmpeq_epi16(_mm256_and_si256(b, high), zero));
  return static_cast<uint32_t>(~_mm256_movemask_epi8(_mm256_permute4x64_epi64(ascii, 0xD8)));
}

uint64_t narrow(const uint32_t* units, char* out) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), high = _mm256_set1_epi32(~0x7F);
  const __m256i a = load(units), b = load(units + 8), c = load(units + 16), d = load(units + 24);
  const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  store(out, _mm256_permutevar8x32_epi32(bytes, order));
  if (_mm256_testz_si256(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)), high)) return 0;
  const auto ascii = [&](__m256i v) { return _mm256_cmpeq_epi32(_mm256_and_si256(v, high), _mm256_setzero_si256()); };
  const __m256i marks =
      _mm256_packs_epi16(_mm256_packs_epi32(ascii(a), ascii(b)), _mm256_packs_epi32(ascii(c), ascii(d)));
  return static_cast<uint32_t>(~_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(marks, order)));
}
#else
constexpr int N = 16;

template <class Unit>
uint64_t narrow(const Unit* units, char* out) {
  uint32_t any = 0;
  for (int k = 0; k < N; k++) any |= units[k];
  for (int k = 0; k < N; k++) out[k] = static_cast<char>(units[k]);
  if (any < 0x80) return 0;
  uint64_t mask = 0;
  for (int k = 0; k < N; k++) mask |= static_cast<uint64_t>(units[k] >= 0x80) << k;
  return mask;
}
#endif

// ASCII, which is nearly all of most texts, is narrowed a block at a time; a run of other characters goes one by one.
template <class Unit>
char* write(const Unit* units, int64_t n, char* out) {
  int64_t i = 0;
  while (i < n) {
    if (i + N <= n && units[i] < 0x80) {
      const uint64_t others = narrow(units + i, out);
      const int ascii = others ? __builtin_ctzll(others) : N;
      i += ascii;
      out += ascii;
      if (!others) continue;
    }
    do out = encode(units[i++], out);
    while (i < n && (units[i] >= 0x80 || i + N > n));
  }
  return out;
}

}  // namespace

int64_t utf8_size(const uint8_t* units, int64_t n) { return size_of(units, n); }
int64_t utf8_size(const uint16_t* units, int64_t n) { return size_of(units, n); }
int64_t utf8_size(const uint32_t* units, int64_t n) { return size_of(units, n); }
char* write_utf8(const uint8_t* units, int64_t n, char* out) { return write(units, n, out); }
char* write_utf8(const uint16_t* units, int64_t n, char* out) { return write(units, n, out); }
char* write_utf8(const uint32_t* units, int64_t n, char* out) { return write(units, n, out); }

}  // namespace RC_SIMD
}  // namespace rc
