// Static vectors on CUDA: a warp for each text.
#include "vectors/static_table.h"

namespace rc {

// A mean that is not finite stays so.
template <class T>
__device__ void gather(const T* table, const float* scale, int64_t H, const int32_t* ids, const int64_t* offsets,
                       int64_t outputs, int32_t skip, int normalize, float* out) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t s = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; s < outputs; s += warps)
    gather_row<Lanes>(table, scale, H, ids + offsets[s], offsets[s + 1] - offsets[s], skip, normalize != 0,
                      out + s * H);
}

}  // namespace rc

#define RC_GATHER(suffix, T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                               \
      rc_gather_mean_##suffix(const T* table, const float* scale, int64_t H, const int32_t* ids,                  \
                              const int64_t* offsets, int64_t outputs, int32_t skip, int normalize, float* out) { \
    rc::gather(table, scale, H, ids, offsets, outputs, skip, normalize, out);                                     \
  }

RC_GATHER(int8, int8_t)
RC_GATHER(half, rc::Half)
RC_GATHER(float, float)
