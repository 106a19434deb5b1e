// One block of bytes, compared with one byte at a time: as many bytes as the instruction set of RC_SIMD has in a
// register. For *.simd.cpp files only.
#pragma once
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rc {
namespace RC_SIMD {

#if defined(__AVX512BW__)
struct Block {
  static constexpr int N = 64;
  __m512i v;
  static Block load(const char* p) { return {_mm512_loadu_si512(p)}; }
  uint64_t equal(char c) const { return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c)); }
  uint64_t high_bits() const { return _mm512_movepi8_mask(v); }
  // bytes (unsigned) in [low, high]
  uint64_t in_range(uint8_t low, uint8_t high) const {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(static_cast<char>(low))),
                                  _mm512_set1_epi8(static_cast<char>(high - low)));
  }
};
#elif defined(__AVX2__)
struct Block {
  static constexpr int N = 32;
  __m256i v;
  static Block load(const char* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static uint64_t mask(__m256i m) { return static_cast<uint32_t>(_mm256_movemask_epi8(m)); }
  uint64_t equal(char c) const { return mask(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c))); }
  uint64_t high_bits() const { return mask(v); }
  uint64_t in_range(uint8_t low, uint8_t high) const {
    const __m256i d = _mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(low)));
    return mask(_mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8(static_cast<char>(high - low))), d));
  }
};
#elif defined(__SSE2__)
struct Block {
  static constexpr int N = 16;
  __m128i v;
  static Block load(const char* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static uint64_t mask(__m128i m) { return static_cast<uint32_t>(_mm_movemask_epi8(m)); }
  uint64_t equal(char c) const { return mask(_mm_cmpeq_epi8(v, _mm_set1_epi8(c))); }
  uint64_t high_bits() const { return mask(v); }
  uint64_t in_range(uint8_t low, uint8_t high) const {
    const __m128i d = _mm_sub_epi8(v, _mm_set1_epi8(static_cast<char>(low)));
    return mask(_mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(static_cast<char>(high - low))), d));
  }
};
#else
struct Block {
  static constexpr int N = 16;
  uint8_t v[16];
  static Block load(const char* p) {
    Block b;
    __builtin_memcpy(b.v, p, 16);
    return b;
  }
  uint64_t equal(char c) const {
    uint64_t m = 0;
    for (int i = 0; i < 16; i++) m |= static_cast<uint64_t>(v[i] == static_cast<uint8_t>(c)) << i;
    return m;
  }
  uint64_t high_bits() const {
    uint64_t m = 0;
    for (int i = 0; i < 16; i++) m |= static_cast<uint64_t>(v[i] >> 7) << i;
    return m;
  }
  uint64_t in_range(uint8_t low, uint8_t high) const {
    uint64_t m = 0;
    for (int i = 0; i < 16; i++) m |= static_cast<uint64_t>(v[i] >= low && v[i] <= high) << i;
    return m;
  }
};
#endif

inline bool same_bytes(const char* a, const char* b, int64_t n) { return __builtin_memcmp(a, b, n) == 0; }

}  // namespace RC_SIMD
}  // namespace rc
