#include "similarity/similarity.h"

namespace rc {
namespace RC_SIMD {
namespace {

template <class T>
int64_t row_norms_of(const T* vectors, int64_t H, int64_t first, int64_t last, RowNorm* norms) {
  for (int64_t r = first; r < last; r++)
    if (!row_norm<Lanes>(vectors + r * H, H, &norms[r - first])) return r;
  return -1;
}

template <class T>
void similarities_of(const T* vectors, const SimilarityInput& in, const RowNorm* norms, int64_t origin, int64_t first,
                     int64_t last, int32_t* out) {
  int64_t document = document_of(in.offsets, in.documents, first);
  for (int64_t i = first; i < last; i++) {
    while (i >= in.offsets[document + 1]) document++;
    const int64_t begin = in.offsets[document], end = in.offsets[document + 1];
    if (i + 1 == end) {
      out[i] = kNoSimilarity;
    } else if (in.block == 1) {
      out[i] = pair_similarity<Lanes>(vectors + i * in.H, norms[i - origin], vectors + (i + 1) * in.H,
                                      norms[i + 1 - origin], in.H);
    } else {
      const int64_t from = i + 1 - begin > in.block ? i + 1 - in.block : begin;
      const int64_t to = end - i - 1 > in.block ? i + 1 + in.block : end;
      out[i] =
          block_similarity<Lanes>(vectors + origin * in.H, norms, in.H, from - origin, i + 1 - origin, to - origin);
    }
  }
}

}  // namespace

int64_t row_norms(const SimilarityInput& in, int64_t first, int64_t last, RowNorm* norms) {
  if (in.half) return row_norms_of(static_cast<const Half*>(in.vectors), in.H, first, last, norms);
  return row_norms_of(static_cast<const float*>(in.vectors), in.H, first, last, norms);
}

void similarities(const SimilarityInput& in, const RowNorm* norms, int64_t origin, int64_t first, int64_t last,
                  int32_t* out) {
  if (in.half) return similarities_of(static_cast<const Half*>(in.vectors), in, norms, origin, first, last, out);
  return similarities_of(static_cast<const float*>(in.vectors), in, norms, origin, first, last, out);
}

}  // namespace RC_SIMD
}  // namespace rc
