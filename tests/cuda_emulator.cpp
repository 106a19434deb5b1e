// The CUDA sources on the CPU, for tests: every thread of a block is a fibre, the threads of a warp meet at shuffles.
// One library with the kernels as plain functions: emulate_<kernel>(grid, block, arguments...).
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#define __CUDACC__ 1
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace emulator {

struct Place {
  unsigned x;
};

struct Fibre {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(64 << 10);
  bool done;
};

ucontext_t scheduler;
std::vector<Fibre> fibres;
Place thread, block, block_size, grid_size;
const std::function<void()>* body;
struct Warp {
  int arrived, live;
  unsigned meeting;
  uint32_t values[32];
};
std::vector<Warp> warps;

void yield() {
  const unsigned me = thread.x;
  swapcontext(&fibres[me].context, &scheduler);
  thread.x = me;
}

// Until all threads of the warp that are still there have come.
void meet() {
  Warp& warp = warps[thread.x / 32];
  const unsigned meeting = warp.meeting;
  if (++warp.arrived == warp.live) {
    warp.arrived = 0;
    warp.meeting++;
  }
  while (warp.meeting == meeting) yield();
}

void start() {
  (*body)();
  Warp& warp = warps[thread.x / 32];
  fibres[thread.x].done = true;
  if (--warp.live && warp.arrived == warp.live) {
    warp.arrived = 0;
    warp.meeting++;
  }
  swapcontext(&fibres[thread.x].context, &scheduler);
}

void launch(unsigned grid, unsigned threads, const std::function<void()>& kernel) {
  body = &kernel;
  grid_size.x = grid;
  block_size.x = threads;
  fibres.resize(threads);
  for (block.x = 0; block.x < grid; block.x++) {
    warps.assign((threads + 31) / 32, Warp{});
    for (unsigned t = 0; t < threads; t++) {
      warps[t / 32].live++;
      Fibre& fibre = fibres[t];
      fibre.done = false;
      getcontext(&fibre.context);
      fibre.context.uc_stack.ss_sp = fibre.stack.data();
      fibre.context.uc_stack.ss_size = fibre.stack.size();
      fibre.context.uc_link = nullptr;
      makecontext(&fibre.context, start, 0);
    }
    for (bool running = true; running;) {
      running = false;
      for (thread.x = 0; thread.x < threads; thread.x++) {
        Fibre& fibre = fibres[thread.x];
        if (fibre.done) continue;
        const unsigned me = thread.x;
        swapcontext(&scheduler, &fibre.context);
        thread.x = me;
        running = running || !fibre.done;
      }
    }
  }
}

uint32_t exchange(uint32_t value, unsigned mask) {
  Warp& warp = warps[thread.x / 32];
  warp.values[thread.x & 31] = value;
  meet();
  const uint32_t other = warp.values[(thread.x & 31) ^ mask];
  meet();
  return other;
}

}  // namespace emulator

#define threadIdx emulator::thread
#define blockIdx emulator::block
#define blockDim emulator::block_size
#define gridDim emulator::grid_size

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  static_assert(sizeof(T) == 4);
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits = emulator::exchange(bits, mask);
  memcpy(&value, &bits, 4);
  return value;
}

inline void __syncwarp() { emulator::meet(); }

#include "boundaries/boundaries.cu"
#include "boundaries/directional.cu"
#include "similarity/similarity.cu"
#include "tokens/windows.cu"
#include "vectors/pooling.cu"
#include "vectors/static_table.cu"

// Arguments come as 8-byte words, as in cuLaunchKernel's array of pointers.
template <class T>
T word(const void* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <class... Parameters, size_t... I>
void unpack(void (*kernel)(Parameters...), unsigned grid, unsigned block, const uint64_t* words,
            std::index_sequence<I...>) {
  emulator::launch(grid, block, [&] { kernel(word<Parameters>(words + I)...); });
}

template <class... Parameters>
void run(void (*kernel)(Parameters...), unsigned grid, unsigned block, const uint64_t* words) {
  unpack(kernel, grid, block, words, std::index_sequence_for<Parameters...>{});
}

extern "C" int emulate(const char* name, unsigned grid, unsigned block, const uint64_t* words) {
#define RC_KERNEL(kernel) \
  if (!strcmp(name, #kernel)) return run(kernel, grid, block, words), 0;
  RC_KERNEL(rc_pool_float)
  RC_KERNEL(rc_pool_half)
  RC_KERNEL(rc_norms_float)
  RC_KERNEL(rc_norms_half)
  RC_KERNEL(rc_similarity_float)
  RC_KERNEL(rc_similarity_half)
  RC_KERNEL(rc_candidates)
  RC_KERNEL(rc_greedy)
  RC_KERNEL(rc_optimal)
  RC_KERNEL(rc_directional_float)
  RC_KERNEL(rc_directional_half)
  RC_KERNEL(rc_gather_windows)
  RC_KERNEL(rc_pack_windows)
  RC_KERNEL(rc_gather_mean_int8)
  RC_KERNEL(rc_gather_mean_half)
  RC_KERNEL(rc_gather_mean_float)
  return 1;
}
