// Directional cuts on CUDA: a warp for each document. Scratch memory comes from the caller; row [n + 1] is for all
// documents together.
#include "boundaries/directional.h"

namespace rc {

// A document with a vector that is not finite stays one chunk.
template <class T>
__device__ void directional(const T* vectors, int64_t H, const int64_t* first, const int64_t* last,
                            const uint8_t* prior, const int64_t* offsets, int64_t documents, int64_t min_tokens,
                            const int64_t* row, float* z, float* sum, RowNorm* norms, double* energy, double* weight,
                            int32_t* cost, int64_t* best, int64_t* from, uint8_t* cut) {
  const int64_t width = (H + kLanes - 1) / kLanes * kLanes;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t d = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; d < documents; d += warps) {
    const int64_t at = offsets[d], n = offsets[d + 1] - at;
    if (!n) continue;
    const DirectionalDocument document{n,           H,   first + at,     last + at,       row + at,
                                       min_tokens,  -1,  z + at * width, sum + d * width, norms + at,
                                       weight + at, cost};
    const VectorRows<T> rows{vectors + at * H, 0, n};
    DirectionalState state;
    directional_begin<Lanes>(document, width);
    const double* before = energy;
    for (int64_t j; (j = next_sentence<Lanes>(rows, document, width, &state)) >= 0;) {
      chunk_products<Lanes>(document, j, width);
      chunk_energies(document, j, before, energy + row[at + j]);
      before = energy + row[at + j];
    }
    if (state.bad >= 0) {
      if (!Lanes::lane()) cut[at + n - 1] = 1;
      continue;
    }
    const double kappa = concentration(state.total, n);
    Lanes::meet();
    for (int64_t i = row[at] + Lanes::lane(); i < row[at + n]; i += 32)
      cost[i] = static_cast<int32_t>(-directional_reward(static_cast<int64_t>(energy[i]), kappa));
    Lanes::meet();
    for (int64_t j = Lanes::lane(); j < n; j += 32) charge_short(document, j);
    Lanes::meet();
    if (Lanes::lane()) continue;
    int64_t* path = from + at + d;  // n + 1 entries a document
    directional_adapt(document, prior + at, best + at + d, path);
    for (int64_t j = n; j > 0; j = path[j]) cut[at + j - 1] = 1;
  }
}

}  // namespace rc

// Five blocks a multiprocessor are asked for, so that the compiler does not spill registers in order to fit seven.
#define RC_DIRECTIONAL(suffix, T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, 5) rc_directional_##suffix(                                        \
      const T* vectors, int64_t H, const int64_t* first, const int64_t* last, const uint8_t* prior,                    \
      const int64_t* offsets, int64_t documents, int64_t min_tokens, const int64_t* row, float* z, float* sum,         \
      rc::RowNorm* norms, double* energy, double* weight, int32_t* cost, int64_t* best, int64_t* from, uint8_t* cut) { \
    rc::directional(vectors, H, first, last, prior, offsets, documents, min_tokens, row, z, sum, norms, energy,        \
                    weight, cost, best, from, cut);                                                                    \
  }

RC_DIRECTIONAL(float, float)
RC_DIRECTIONAL(half, rc::Half)
