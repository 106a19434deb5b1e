// Line breaks, 64 bytes at a time: one bit for each byte, then one step for each bit.
#include "structure/markdown.h"

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rc {
namespace RC_SIMD {
namespace {

#if defined(__AVX512BW__)
uint64_t breaks64(const char* p) {
  const __m512i v = _mm512_loadu_si512(p);
  return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')) | _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\r'));
}
#elif defined(__AVX2__)
uint64_t breaks32(const char* p) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i hit =
      _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n')), _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\r')));
  return static_cast<uint32_t>(_mm256_movemask_epi8(hit));
}
uint64_t breaks64(const char* p) { return breaks32(p) | breaks32(p + 32) << 32; }
#elif defined(__SSE2__)
uint64_t breaks16(const char* p) {
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\r')));
  return static_cast<uint32_t>(_mm_movemask_epi8(hit));
}
uint64_t breaks64(const char* p) {
  return breaks16(p) | breaks16(p + 16) << 16 | breaks16(p + 32) << 32 | breaks16(p + 48) << 48;
}
#else
uint64_t breaks64(const char* p) {
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(p[i] == '\n' || p[i] == '\r') << i;
  return mask;
}
#endif

}  // namespace

int64_t line_breaks(const char* text, int64_t begin, int64_t end, int64_t* positions, int64_t capacity, int64_t* next) {
  int64_t n = 0, at = begin;
  for (; at + 64 <= end && n + 64 <= capacity; at += 64)
    for (uint64_t mask = breaks64(text + at); mask; mask &= mask - 1) positions[n++] = at + __builtin_ctzll(mask);
  if (end - at < 64)
    for (; at < end && n < capacity; ++at)
      if (text[at] == '\n' || text[at] == '\r') positions[n++] = at;
  *next = at;
  return n;
}

}  // namespace RC_SIMD
}  // namespace rc
