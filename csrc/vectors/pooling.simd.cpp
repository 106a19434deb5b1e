#include "vectors/pooling.h"

namespace rc {
namespace RC_SIMD {
namespace {

template <class T>
int64_t pool_rows_of(const T* vectors, const PoolInput& in, int64_t first, int64_t last, float* out) {
  for (int64_t s = first; s < last; s++) {
    const int64_t from = in.offsets ? in.offsets[s] : s, to = in.offsets ? in.offsets[s + 1] : s + 1;
    if (!pool_row<Lanes>(vectors, in.H, in.start, in.end, from, to, in.normalize, out + s * in.H)) return s;
  }
  return -1;
}

}  // namespace

int64_t pool_rows(const PoolInput& in, int64_t first, int64_t last, float* out) {
  if (in.half) return pool_rows_of(static_cast<const Half*>(in.vectors), in, first, last, out);
  return pool_rows_of(static_cast<const float*>(in.vectors), in, first, last, out);
}

}  // namespace RC_SIMD
}  // namespace rc
