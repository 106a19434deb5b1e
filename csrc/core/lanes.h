// Vector arithmetic written once for every backend: a body takes a "lanes" type and uses nothing else for its floats.
//
// A lanes type holds 64 floats (V) and gives load, load_tail, zero, add, mul, scale, store, store_tail, sum and
// max_bits. On the CPU it is the vector below, cut into native registers; under CUDA it is a warp with two floats a
// lane. Rows of any length H are walked in blocks of 64, the last one filled up with zeros. Every operation is one IEEE
// operation, mul and add are never fused, and sum() adds in one fixed order (see there), so all backends give the same
// bits.
//
// No standard library in here: NVRTC compiles this file.
#pragma once
#if !defined(__CUDACC_RTC__)
#include <cstdint>
#else
using int8_t = signed char;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
#define __builtin_memcpy memcpy
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
#endif
#if !defined(__CUDACC__) && defined(__F16C__)
#include <immintrin.h>
#endif

// A function that both backends call. Internal linkage: each instruction set must keep its own copy.
#if defined(__CUDACC__)
#define RC_BODY static __host__ __device__ __forceinline__
#else
#define RC_BODY static inline __attribute__((always_inline))
#endif

namespace rc {

// An IEEE binary16 number as it lies in memory.
struct Half {
  uint16_t bits;
};

constexpr int kLanes = 64;

namespace {  // internal linkage, as above

RC_BODY float widen(float x) { return x; }
RC_BODY float widen(int8_t x) { return x; }

RC_BODY float widen(Half x) {
  // The exponent is moved by a multiplication, which is exact and does subnormal numbers as well.
  const int32_t magnitude = x.bits & 0x7fff;
  int32_t bits = magnitude << 13;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  value *= 0x1p112f;
  __builtin_memcpy(&bits, &value, 4);
  bits |= magnitude > 0x7bff ? 0x7f800000 : 0;  // infinity and NaN
  bits |= static_cast<int32_t>(static_cast<uint32_t>(x.bits & 0x8000) << 16);
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

#if defined(__CUDACC__)

// A warp: lane l holds the numbers l and l + 32. All 32 lanes call every function, and all get the same from sum() and
// max_bits(). What a lane stores, it alone loads again.
struct Lanes {
  struct V {
    float low, high;
  };

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x & 31); }
  // What any lane stored before, all may load from here on.
  static __device__ __forceinline__ void meet() { __syncwarp(); }
  static __device__ __forceinline__ V zero() { return {0.f, 0.f}; }
  template <class T>
  static __device__ __forceinline__ V load(const T* p) {
    return {widen(p[lane()]), widen(p[lane() + 32])};
  }
  template <class T>
  static __device__ __forceinline__ V load_tail(const T* p, int64_t n) {
    return {lane() < n ? widen(p[lane()]) : 0.f, lane() + 32 < n ? widen(p[lane() + 32]) : 0.f};
  }
  static __device__ __forceinline__ void store(float* p, V v) {
    p[lane()] = v.low;
    p[lane() + 32] = v.high;
  }
  static __device__ __forceinline__ void store_tail(float* p, V v, int64_t n) {
    if (lane() < n) p[lane()] = v.low;
    if (lane() + 32 < n) p[lane() + 32] = v.high;
  }
  static __device__ __forceinline__ V add(V a, V b) { return {a.low + b.low, a.high + b.high}; }
  static __device__ __forceinline__ V sub(V a, V b) { return {a.low - b.low, a.high - b.high}; }
  static __device__ __forceinline__ V mul(V a, V b) { return {a.low * b.low, a.high * b.high}; }
  static __device__ __forceinline__ V scale(V a, float s) { return {a.low * s, a.high * s}; }
  // As on the CPU: the upper half to the lower half, 32, 16, 8, 4, 2, 1. A lane of an upper half adds the same two the
  // other way round, which gives the same.
  static __device__ __forceinline__ float sum(V v) {
    float s = v.low + v.high;
    for (int half = 16; half; half /= 2) s = s + __shfl_xor_sync(0xffffffffu, s, half);
    return s;
  }
  template <class T>
  static __device__ __forceinline__ uint32_t max_bits(const T* p, int64_t n) {
    uint32_t most = 0;
    for (int64_t i = lane(); i < n; i += 32) {
      const float value = widen(p[i]);
      uint32_t bits;
      __builtin_memcpy(&bits, &value, 4);
      bits &= 0x7fffffffu;
      most = bits > most ? bits : most;
    }
    for (int half = 16; half; half /= 2) {
      const uint32_t other = __shfl_xor_sync(0xffffffffu, most, half);
      most = other > most ? other : most;
    }
    return most;
  }
};

}  // namespace
#else

struct Lanes {
#if defined(__AVX512F__)
  static constexpr int kNative = 16;
#elif defined(__AVX__)
  static constexpr int kNative = 8;
#else
  static constexpr int kNative = 4;
#endif
  static constexpr int kParts = kLanes / kNative;
  typedef float Native __attribute__((vector_size(4 * kNative)));
  // In memory, on any float's address. (memcpy into a Native goes through the stack in GCC: half the speed.)
  typedef float Loose __attribute__((vector_size(4 * kNative), aligned(4), may_alias));
  typedef int32_t Words __attribute__((vector_size(4 * kNative)));
  struct V {
    Native part[kParts];
  };

  RC_BODY int lane() { return 0; }  // there is but one
  RC_BODY void meet() {}
  RC_BODY V zero() {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = Native{};
    return r;
  }
  RC_BODY V load(const float* p) {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = *reinterpret_cast<const Loose*>(p + i * kNative);
    return r;
  }
  RC_BODY V load(const Half* p) {
    V r;
#if defined(__AVX512F__)
    for (int i = 0; i < kParts; i++)
      r.part[i] =
          (Native)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i * kNative)));
#elif defined(__F16C__)
    for (int i = 0; i < kParts; i++)
      r.part[i] = (Native)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * kNative)));
#else
    for (int i = 0; i < kParts; i++) {
      Words bits;
      for (int k = 0; k < kNative; k++) bits[k] = p[i * kNative + k].bits;
      r.part[i] = widen_words(bits);
    }
#endif
    return r;
  }
  RC_BODY V load(const int8_t* p) {
    V r;
#if defined(__AVX512F__)
    for (int i = 0; i < kParts; i++)
      r.part[i] = (Native)_mm512_cvtepi32_ps(
          _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * kNative))));
#elif defined(__AVX2__)
    for (int i = 0; i < kParts; i++)
      r.part[i] = (Native)_mm256_cvtepi32_ps(
          _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + i * kNative))));
#else
    for (int i = 0; i < kParts; i++)
      for (int k = 0; k < kNative; k++) r.part[i][k] = p[i * kNative + k];
#endif
    return r;
  }
  // widen() of kNative numbers at once.
  RC_BODY Native widen_words(const Words& half) {
    const Words magnitude = half & 0x7fff;
    const Words moved = (Words)((Native)(magnitude << 13) * 0x1p112f);
    const Words special = (magnitude > 0x7bff) & 0x7f800000;
    return (Native)(moved | special | (half & 0x8000) << 16);
  }
  // The first n < 64 numbers, then zeros.
  template <class T>
  RC_BODY V load_tail(const T* p, int64_t n) {
    float wide[kLanes] = {};
    for (int64_t i = 0; i < n; i++) wide[i] = widen(p[i]);
    return load(wide);
  }
  RC_BODY void store(float* p, const V& v) {
    for (int i = 0; i < kParts; i++) *reinterpret_cast<Loose*>(p + i * kNative) = v.part[i];
  }
  RC_BODY void store_tail(float* p, const V& v, int64_t n) {
    float all[kLanes];
    store(all, v);
    for (int64_t i = 0; i < n; i++) p[i] = all[i];
  }
  RC_BODY V add(const V& a, const V& b) {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = a.part[i] + b.part[i];
    return r;
  }
  RC_BODY V sub(const V& a, const V& b) {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = a.part[i] - b.part[i];
    return r;
  }
  RC_BODY V mul(const V& a, const V& b) {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = a.part[i] * b.part[i];
    return r;
  }
  RC_BODY V scale(const V& a, float s) {
    V r;
    for (int i = 0; i < kParts; i++) r.part[i] = a.part[i] * s;
    return r;
  }
  // The sum of all 64: the upper half is added to the lower half until one number is left (32, 16, 8, 4, 2, 1).
  RC_BODY float sum(V v) {
    for (int half = kParts / 2; half; half /= 2)
      for (int i = 0; i < half; i++) v.part[i] += v.part[i + half];
    float x[kNative];
    __builtin_memcpy(x, &v.part[0], sizeof x);
    for (int half = kNative / 2; half; half /= 2)
      for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
  }
  // The largest magnitude as bits, which sort like the numbers; NaN and infinity are >= 0x7f800000.
  template <class T>
  RC_BODY uint32_t max_bits(const T* p, int64_t n) {
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
      const float value = widen(p[i]);
      uint32_t bits;
      __builtin_memcpy(&bits, &value, 4);
      bits &= 0x7fffffffu;
      most = bits > most ? bits : most;
    }
    return most;
  }
};

}  // namespace
#endif

// ---- rows of H numbers, float or Half
// ----------------------------------------------------------------------------------

template <class L, class T>
RC_BODY float row_dot(const T* a, const T* b, int64_t H) {
  typename L::V sum = L::zero();
  int64_t i = 0;
  for (; i + kLanes <= H; i += kLanes) sum = L::add(sum, L::mul(L::load(a + i), L::load(b + i)));
  if (i < H) sum = L::add(sum, L::mul(L::load_tail(a + i, H - i), L::load_tail(b + i, H - i)));
  return L::sum(sum);
}

// The same of a times p and b times q.
template <class L, class T>
RC_BODY float row_dot_scaled(const T* a, float p, const T* b, float q, int64_t H) {
  typename L::V sum = L::zero();
  int64_t i = 0;
  for (; i + kLanes <= H; i += kLanes)
    sum = L::add(sum, L::mul(L::scale(L::load(a + i), p), L::scale(L::load(b + i), q)));
  if (i < H)
    sum = L::add(sum, L::mul(L::scale(L::load_tail(a + i, H - i), p), L::scale(L::load_tail(b + i, H - i), q)));
  return L::sum(sum);
}

// unit(x) = (x * scale) * inverse. scale is a power of two: 1 where the squares stay well inside the range of floats.
// A zero row has inverse 0.
struct RowNorm {
  float scale, inverse;
};

// False if the row holds NaN or infinity.
template <class L, class T>
RC_BODY bool row_norm(const T* x, int64_t H, RowNorm* norm) {
  norm->scale = 1.f;
  float squares = row_dot<L>(x, x, H);
  if (!(squares >= 0x1p-60f && squares <= 0x1p60f)) {
    const uint32_t bits = L::max_bits(x, H);
    if (bits >= 0x7f800000u) return false;
    if (!bits) {
      norm->inverse = 0.f;
      return true;
    }
    // The power of two that brings the largest magnitude to [1, 2), as far as a normal float can.
    int exponent = 127 - static_cast<int>(bits >> 23);
    exponent = exponent < -126 ? -126 : exponent > 126 ? 126 : exponent;
    const uint32_t power = static_cast<uint32_t>(exponent + 127) << 23;
    __builtin_memcpy(&norm->scale, &power, 4);
    squares = row_dot_scaled<L>(x, norm->scale, x, norm->scale, H);
  }
  norm->inverse = 1.f / __builtin_sqrtf(squares);
  return true;
}

}  // namespace rc
