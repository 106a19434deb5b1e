#include "sentences/candidates.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace rc::RC_SIMD {
namespace {

// A byte is a candidate when by_low[low nibble] and by_high[high nibble] share a bit: each bit stands for one row of
// sixteen.
//   row 0x  \n \r            row 2x  ! " ( ) .        row 3x  : ; ?         row 5x  [ ]
//   row Cx  c2 cd            row Dx  d6 d8 db dc df   row Ex  e0 e1 e2 e3 ea ef   row Fx  f0
constexpr unsigned char by_high[16] = {1, 0, 2, 4, 0, 8, 0, 0, 0, 0, 0, 0, 16, 32, 64, 128};
constexpr unsigned char by_low[16] = {
    64 | 128,     // 0: e0 f0
    2 | 64,       // 1: ! e1
    2 | 16 | 64,  // 2: " c2 e2
    64,           // 3: e3
    0,            // 4
    0,            // 5
    32,           // 6: d6
    0,            // 7
    2 | 32,       // 8: ( d8
    2,            // 9: )
    1 | 4 | 64,   // a: \n : ea
    4 | 8 | 32,   // b: ; [ db
    32,           // c: dc
    1 | 8 | 16,   // d: \r ] cd
    2,            // e: .
    4 | 32 | 64,  // f: ? df ef
};

}  // namespace

void candidate_masks(const unsigned char* text, int blocks, uint64_t* masks) {
#if defined(__AVX512BW__)
  const __m512i low_table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(by_low)));
  const __m512i high_table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(by_high)));
  const __m512i nibble = _mm512_set1_epi8(15);
  for (int b = 0; b < blocks; ++b) {
    const __m512i bytes = _mm512_loadu_si512(text + 64 * b);
    const __m512i low = _mm512_shuffle_epi8(low_table, _mm512_and_si512(bytes, nibble));
    const __m512i high = _mm512_shuffle_epi8(high_table, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble));
    masks[b] = _mm512_test_epi8_mask(low, high);
  }
#elif defined(__AVX2__)
  const __m256i low_table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(by_low)));
  const __m256i high_table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(by_high)));
  const __m256i nibble = _mm256_set1_epi8(15);
  for (int b = 0; b < blocks; ++b) {
    uint64_t mask = 0;
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 64 * b + 32 * half));
      const __m256i low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(bytes, nibble));
      const __m256i high = _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble));
      const __m256i none = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
      mask |= static_cast<uint64_t>(static_cast<uint32_t>(~_mm256_movemask_epi8(none))) << (32 * half);
    }
    masks[b] = mask;
  }
#else
  for (int b = 0; b < blocks; ++b) {
    uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
      const unsigned char byte = text[64 * b + i];
      mask |= static_cast<uint64_t>((by_low[byte & 15] & by_high[byte >> 4]) != 0) << i;
    }
    masks[b] = mask;
  }
#endif
}

}  // namespace rc::RC_SIMD
