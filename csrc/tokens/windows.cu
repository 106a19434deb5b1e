// Windows of tokens as an encoder wants them, on CUDA: a warp for each window.
#include "tokens/windows.h"

namespace rc {

template <class F>
__device__ void each_window(int64_t windows, F f) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; b < windows; b += warps)
    f(b);
}

// Token i of a window of `tokens` tokens that begins at ids + start: prefix, text, suffix.
__device__ int32_t window_token(const int32_t* ids, int64_t start, int64_t tokens, const int32_t* prefix,
                                int64_t prefix_size, const int32_t* suffix, int64_t i) {
  if (i < prefix_size) return prefix[i];
  i -= prefix_size;
  return i < tokens ? ids[start + i] : suffix[i - tokens];
}

}  // namespace rc

extern "C" __global__ void __launch_bounds__(256)
    rc_gather_windows(const int32_t* ids, const int64_t* start, const int64_t* end, int64_t windows,
                      const int32_t* prefix, int64_t prefix_size, const int32_t* suffix, int64_t suffix_size,
                      int32_t pad, int64_t length, int64_t* out, int64_t* mask) {
  rc::each_window(windows, [&](int64_t b) {
    const int64_t tokens = end[b] - start[b], used = prefix_size + tokens + suffix_size;
    for (int64_t i = rc::Lanes::lane(); i < length; i += 32) {
      out[b * length + i] = i < used ? rc::window_token(ids, start[b], tokens, prefix, prefix_size, suffix, i) : pad;
      mask[b * length + i] = i < used;
    }
  });
}

extern "C" __global__ void __launch_bounds__(256)
    rc_pack_windows(const int32_t* ids, const int64_t* start, const int64_t* end, int64_t windows,
                    const int32_t* prefix, int64_t prefix_size, const int32_t* suffix, const int32_t* cu_seqlens,
                    int32_t* out, int32_t* position) {
  rc::each_window(windows, [&](int64_t b) {
    const int64_t at = cu_seqlens[b];
    for (int64_t i = rc::Lanes::lane(); i < cu_seqlens[b + 1] - at; i += 32) {
      out[at + i] = rc::window_token(ids, start[b], end[b] - start[b], prefix, prefix_size, suffix, i);
      position[at + i] = static_cast<int32_t>(i);
    }
  });
}
