#include "similarity/scores.h"

namespace rc {
namespace RC_SIMD {
namespace {

template <class T>
int64_t cosines_of(const T* vectors, int64_t H, const float* query, int64_t first, int64_t last, float* cosine) {
  for (int64_t r = first; r < last; r++)
    if (!row_cosine<Lanes>(vectors + r * H, query, H, cosine + r)) return r;
  return -1;
}

}  // namespace

bool unit_query(const float* query, int64_t H, float* out) {
  RowNorm norm;
  if (!row_norm<Lanes>(query, H, &norm)) return false;
  for (int64_t i = 0; i < H; i++) out[i] = query[i] * norm.scale * norm.inverse;
  return true;
}

int64_t query_cosines(const ScoreInput& in, const float* query, int64_t first, int64_t last, float* cosine) {
  if (in.half) return cosines_of(static_cast<const Half*>(in.vectors), in.H, query, first, last, cosine);
  return cosines_of(static_cast<const float*>(in.vectors), in.H, query, first, last, cosine);
}

}  // namespace RC_SIMD
}  // namespace rc
