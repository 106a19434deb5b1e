#include <cstring>

#include "tokens/wordpiece_scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rc {
namespace RC_SIMD {
namespace {

constexpr int kBlock = 64, kBatch = 4096;  // bytes a mask, bytes between two looks at the columns' room

struct Masks {
  uint64_t space, punctuation;  // ASCII: \t \n \r and blank; the four ranges of punctuation
};

#if defined(__AVX512BW__)

inline Masks classify(const unsigned char* p) {
  const __m512i c = _mm512_loadu_si512(p);
  const auto within = [c](int low, int high) {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8(static_cast<char>(low))),
                                  _mm512_set1_epi8(static_cast<char>(high - low)));
  };
  const auto equals = [c](int value) { return _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(static_cast<char>(value))); };
  return {equals(' ') | within('\t', '\n') | equals('\r'),
          within('!', '/') | within(':', '@') | within('[', '`') | within('{', '~')};
}

#elif defined(__AVX2__)

// The class of a byte is the meet of what its two nibbles allow: bits 0-1 white space, bits 2-6 punctuation.
inline __m256i classes(const unsigned char* p) {
  const __m256i high_table = _mm256_setr_epi8(1, 0, 2 | 4, 8, 16, 32, 16, 64, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                              1, 0, 2 | 4, 8, 16, 32, 16, 64, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i low_table = _mm256_setr_epi8(2 | 16, 4, 4, 4, 4, 4, 4, 4, 4, 1 | 4, 1 | 4 | 8, 4 | 8 | 32 | 64,
                                             4 | 8 | 32 | 64, 1 | 4 | 8 | 32 | 64, 4 | 8 | 32 | 64, 4 | 8 | 32,  //
                                             2 | 16, 4, 4, 4, 4, 4, 4, 4, 4, 1 | 4, 1 | 4 | 8, 4 | 8 | 32 | 64,
                                             4 | 8 | 32 | 64, 1 | 4 | 8 | 32 | 64, 4 | 8 | 32 | 64, 4 | 8 | 32);
  const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i nibble = _mm256_set1_epi8(15);
  return _mm256_and_si256(_mm256_shuffle_epi8(low_table, _mm256_and_si256(c, nibble)),
                          _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(c, 4), nibble)));
}

inline Masks classify(const unsigned char* p) {
  const __m256i a = classes(p), b = classes(p + 32), zero = _mm256_setzero_si256();
  const auto none = [zero](__m256i v, int bits) -> uint32_t {
    return static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(bits))), zero)));
  };
  const uint64_t space = ~(none(a, 3) | static_cast<uint64_t>(none(b, 3)) << 32);
  const uint64_t punctuation = ~(none(a, 124) | static_cast<uint64_t>(none(b, 124)) << 32);
  return {space, punctuation};
}

#elif defined(__x86_64__)

inline Masks classify(const unsigned char* p) {
  Masks masks{0, 0};
  for (int i = 0; i < 4; i++) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const auto equals = [c](int value) { return _mm_cmpeq_epi8(c, _mm_set1_epi8(static_cast<char>(value))); };
    const auto within = [c](int low, int high) {
      const __m128i x = _mm_sub_epi8(c, _mm_set1_epi8(static_cast<char>(low)));
      return _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(static_cast<char>(high - low))), x);
    };
    const __m128i space = _mm_or_si128(_mm_or_si128(equals(' '), within('\t', '\n')), equals('\r'));
    const __m128i punctuation = _mm_or_si128(_mm_or_si128(within('!', '/'), within(':', '@')),
                                             _mm_or_si128(within('[', '`'), within('{', '~')));
    masks.space |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(space))) << (16 * i);
    masks.punctuation |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(punctuation))) << (16 * i);
  }
  return masks;
}

#else

inline Masks classify(const unsigned char* p) {
  Masks masks{0, 0};
  for (int i = 0; i < kBlock; i++) {
    const unsigned char c = p[i];
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    const bool punctuation =
        (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    masks.space |= static_cast<uint64_t>(space) << i;
    masks.punctuation |= static_cast<uint64_t>(punctuation) << i;
  }
  return masks;
}

#endif

inline uint64_t load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// The first `n` of 8 bytes (n from 0 to 8), little endian.
inline uint64_t first_bytes(uint64_t v, int64_t n) {
  return n >= 8 ? v : n <= 0 ? 0 : v & (~uint64_t{0} >> (64 - 8 * n));
}

inline int write_positions(uint64_t mask, int position, uint16_t* out, int n) {
  while (mask) {
    out[n++] = static_cast<uint16_t>(position + __builtin_ctzll(mask));
    mask &= mask - 1;
  }
  return n;
}

// What tells pieces apart: the piece's own bytes, zero padded, and how many they are.
struct Key {
  uint64_t a, b, c = 0, d = 0;
  int64_t size;

  // `at` has 32 readable bytes.
  Key(const char* at, int64_t n) : a(first_bytes(load64(at), n)), b(first_bytes(load64(at + 8), n - 8)), size(n) {
    if (__builtin_expect(n <= 16, 1)) return;
    c = first_bytes(load64(at + 16), n - 16);
    d = first_bytes(load64(at + 24), n - 24);
  }
  uint64_t hash() const {
    uint64_t h = a * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu;
    if (__builtin_expect(size > 16, 0)) h += c * 0x165667B19E3779F9u + d * 0xD6E8FEB86659FD93u;
    return h;
  }
};

// Appends the tokens of the entry if it is of this piece.
template <bool kCountOnly, class Entry>
inline bool append(PieceScan& scan, const Entry& entry, const Key& key, int64_t start) {
  const uint64_t differs = (entry.key[0] ^ key.a) | (entry.key[1] ^ key.b) | (entry.key[2] ^ key.c) |
                           (entry.key[3] ^ key.d) | (entry.size ^ static_cast<uint64_t>(key.size));
  if (__builtin_expect(differs != 0, 0)) return false;
  if (!kCountOnly) {
    const int64_t n = scan.count, from = scan.base + start;
    for (int i = 0; i < Entry::kTokens; i++) scan.ids[n + i] = entry.ids[i];
    for (int i = 0; i < Entry::kTokens; i++) scan.starts[n + i] = from + entry.starts[i];
    for (int i = 0; i < Entry::kTokens; i++) scan.ends[n + i] = from + entry.ends[i];
    std::memcpy(scan.continues + n, entry.continues, Entry::kTokens);
  }
  scan.count += entry.tokens;
  return true;
}

// A piece that the first cache does not hold. It makes its key again, so that the hot loop need not keep it in memory.
template <bool kCountOnly>
__attribute__((noinline)) void second_look(PieceScan& scan, const char* at, int64_t start, int64_t size) {
  const Key key(at, size);
  const uint64_t hash = key.hash();
  if (scan.long_cache && append<kCountOnly>(scan, scan.long_cache[hash >> scan.long_shift], key, start)) return;
  scan.miss(scan, start, start + size, hash);
}

// Looks up the piece [start, end); `at` has 32 readable bytes from its first.
template <bool kCountOnly>
inline void piece(PieceScan& scan, const char* at, int64_t start, int64_t end) {
  const int64_t size = end - start;
  if (__builtin_expect(size > CachedPiece::kBytes, 0)) {
    scan.miss(scan, start, end, 0);
    return;
  }
  const Key key(at, size);
  if (!append<kCountOnly>(scan, scan.cache[key.hash() >> scan.shift], key, start))
    second_look<kCountOnly>(scan, at, start, size);
}

// The same near the end of the text, where 32 bytes may not be readable.
template <bool kCountOnly>
void last_piece(PieceScan& scan, int64_t start, int64_t end) {
  char copy[CachedPiece::kBytes] = {};
  const int64_t size = end - start;
  std::memcpy(copy, scan.text + start, static_cast<size_t>(size < CachedPiece::kBytes ? size : CachedPiece::kBytes));
  piece<kCountOnly>(scan, copy, start, end);
}

template <bool kCountOnly>
void scan_all(PieceScan& scan) {
  uint16_t begins[kBatch + kBlock], ends[kBatch + kBlock];
  uint64_t word_before = 0, punctuation_before = 0;  // of the last byte before the block
  int64_t open = -1;                                 // start of a piece whose end is not seen yet
  for (int64_t batch = 0; batch < scan.size; batch += kBatch) {
    const int64_t left = scan.size - batch;
    const int bytes = static_cast<int>(left < kBatch ? left : kBatch);
    int begin_count = 0, end_count = 0;
    for (int block = 0; block < bytes; block += kBlock) {
      const char* from = scan.text + batch + block;
      unsigned char padded[kBlock];
      if (__builtin_expect(bytes - block < kBlock, 0)) {
        std::memset(padded, ' ', kBlock);
        std::memcpy(padded, from, static_cast<size_t>(bytes - block));
        from = reinterpret_cast<const char*>(padded);
      }
      const Masks masks = classify(reinterpret_cast<const unsigned char*>(from));
      const uint64_t word = ~(masks.space | masks.punctuation);
      const uint64_t after_word = word << 1 | word_before,
                     after_punctuation = masks.punctuation << 1 | punctuation_before;
      begin_count = write_positions((word & ~after_word) | masks.punctuation, block, begins, begin_count);
      end_count = write_positions((~word & after_word) | after_punctuation, block, ends, end_count);
      word_before = word >> 63;
      punctuation_before = masks.punctuation >> 63;
    }
    if (!kCountOnly) scan.grow(scan, bytes + CachedPiece::kBytes);
    int e = 0;
    if (open >= 0 && end_count > 0) {
      last_piece<kCountOnly>(scan, open, batch + ends[e++]);
      open = -1;
    }
    const int pairs = end_count - e;
    if (left >= kBatch + CachedPiece::kBytes) {
      for (int i = 0; i < pairs; i++) {
        const int64_t start = batch + begins[i];
        piece<kCountOnly>(scan, scan.text + start, start, batch + ends[i + e]);
      }
    } else {
      for (int i = 0; i < pairs; i++) last_piece<kCountOnly>(scan, batch + begins[i], batch + ends[i + e]);
    }
    if (begin_count > pairs) open = batch + begins[pairs];
  }
  if (open >= 0) {
    if (!kCountOnly) scan.grow(scan, CachedPiece::kBytes);
    last_piece<kCountOnly>(scan, open, scan.size);
  }
}

}  // namespace

void scan_pieces(PieceScan& scan) {
  if (scan.ids) {
    scan_all<false>(scan);
  } else {
    scan_all<true>(scan);
  }
}

}  // namespace RC_SIMD
}  // namespace rc
