// Which instruction set the hot loops use. The level is chosen once, at first use: the best that the machine has, or
// the one named by the environment variable RAPIDCHUNK_SIMD (baseline, avx2, avx512).
//
// A file named *.simd.cpp is compiled once for each level, with RC_SIMD defined as the level's name; it puts its
// functions into namespace rc::RC_SIMD. Such a file must not instantiate standard library templates: the linker keeps
// one copy of an inline function, and that copy could be the one that needs AVX-512.
#pragma once
#if !defined(__CUDACC__)

namespace rc {

enum class Simd { baseline = 0, avx2 = 1, avx512 = 2 };

Simd simd_level();
const char* simd_name(Simd level);

#if defined(__x86_64__) || defined(_M_X64)
#define RC_DECLARE_SIMD(...) \
  namespace baseline {       \
  __VA_ARGS__                \
  }                          \
  namespace avx2 {           \
  __VA_ARGS__                \
  }                          \
  namespace avx512 {         \
  __VA_ARGS__                \
  }
// The function of this name for the current level.
#define RC_PICK(function)                                             \
  (::rc::simd_level() == ::rc::Simd::avx512 ? &::rc::avx512::function \
   : ::rc::simd_level() == ::rc::Simd::avx2 ? &::rc::avx2::function   \
                                            : &::rc::baseline::function)
#else
#define RC_DECLARE_SIMD(...) \
  namespace baseline {       \
  __VA_ARGS__                \
  }
#define RC_PICK(function) (&::rc::baseline::function)
#endif

}  // namespace rc
#endif
