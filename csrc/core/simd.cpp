#include "core/simd.h"

#include <cstdlib>
#include <string>

#include "core/check.h"

namespace rc {
namespace {

Simd best_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return avx512 ? Simd::avx512 : avx2 ? Simd::avx2 : Simd::baseline;
#else
  return Simd::baseline;
#endif
}

Simd choose_level() {
  const Simd best = best_level();
  const char* wanted = std::getenv("RAPIDCHUNK_SIMD");
  if (!wanted || !*wanted) return best;
  for (Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
    if (std::string(wanted) != simd_name(level)) continue;
    check(level <= best, "RAPIDCHUNK_SIMD", std::string("names ") + wanted + ", which this machine does not have");
    return level;
  }
  check(false, "RAPIDCHUNK_SIMD", std::string("must be baseline, avx2 or avx512, not ") + wanted);
  return best;
}

}  // namespace

Simd simd_level() {
  static const Simd level = choose_level();
  return level;
}

const char* simd_name(Simd level) {
  switch (level) {
    case Simd::avx512: return "avx512";
    case Simd::avx2: return "avx2";
    default: return "baseline";
  }
}

}  // namespace rc
