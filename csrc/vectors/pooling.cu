// Pooling on CUDA: a warp for each output.
#include "vectors/pooling.h"

namespace rc {

// A mean that is not finite stays so.
template <class T>
__device__ void pool(const T* vectors, int64_t H, const int64_t* start, const int64_t* end, const int64_t* offsets,
                     int64_t outputs, int normalize, float* out) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t s = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; s < outputs; s += warps) {
    const int64_t first = offsets ? offsets[s] : s, last = offsets ? offsets[s + 1] : s + 1;
    pool_row<Lanes>(vectors, H, start, end, first, last, normalize != 0, out + s * H);
  }
}

}  // namespace rc

extern "C" __global__ void __launch_bounds__(256)
    rc_pool_float(const float* vectors, int64_t H, const int64_t* start, const int64_t* end, const int64_t* offsets,
                  int64_t outputs, int normalize, float* out) {
  rc::pool(vectors, H, start, end, offsets, outputs, normalize, out);
}

extern "C" __global__ void __launch_bounds__(256)
    rc_pool_half(const rc::Half* vectors, int64_t H, const int64_t* start, const int64_t* end, const int64_t* offsets,
                 int64_t outputs, int normalize, float* out) {
  rc::pool(vectors, H, start, end, offsets, outputs, normalize, out);
}
