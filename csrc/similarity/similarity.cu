// Similarity of neighbours on CUDA: a warp for each row.
#include "similarity/similarity.h"

namespace rc {

template <class F>
__device__ void each_row(int64_t n, F f) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; i < n; i += warps) f(i);
}

// A row that is not finite has the norm of a zero row.
template <class T>
__device__ void norms_of(const T* vectors, int64_t n, int64_t H, RowNorm* norms) {
  each_row(n, [&](int64_t i) {
    RowNorm norm = {1.f, 0.f};
    if (!row_norm<Lanes>(vectors + i * H, H, &norm)) norm = {1.f, 0.f};
    if (!Lanes::lane()) norms[i] = norm;
  });
}

template <class T>
__device__ void similarity_of(const T* vectors, const RowNorm* norms, int64_t n, int64_t H, const int64_t* offsets,
                              int64_t documents, int64_t block, int32_t* out) {
  each_row(n, [&](int64_t i) {
    const int64_t d = document_of(offsets, documents, i), begin = offsets[d], end = offsets[d + 1];
    int32_t value = kNoSimilarity;
    if (i + 1 < end) {
      const int64_t first = i + 1 - block > begin ? i + 1 - block : begin;
      const int64_t last = i + 1 + block < end ? i + 1 + block : end;
      value = block == 1 ? pair_similarity<Lanes>(vectors + i * H, norms[i], vectors + (i + 1) * H, norms[i + 1], H)
                         : block_similarity<Lanes>(vectors, norms, H, first, i + 1, last);
    }
    if (!Lanes::lane()) out[i] = value;
  });
}

}  // namespace rc

// Four blocks a multiprocessor are asked for, so that the compiler does not spill registers in order to fit eight.
#define RC_SIMILARITY(suffix, T)                                                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                                                    \
      rc_norms_##suffix(const T* vectors, int64_t n, int64_t H, rc::RowNorm* norms) {                                  \
    rc::norms_of(vectors, n, H, norms);                                                                                \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                                 \
      rc_similarity_##suffix(const T* vectors, const rc::RowNorm* norms, int64_t n, int64_t H, const int64_t* offsets, \
                             int64_t documents, int64_t block, int32_t* out) {                                         \
    rc::similarity_of(vectors, norms, n, H, offsets, documents, block, out);                                           \
  }

RC_SIMILARITY(float, float)
RC_SIMILARITY(half, rc::Half)
