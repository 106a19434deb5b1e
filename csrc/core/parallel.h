// Parallel loop over documents. Threads are started for the call and joined before it returns: nothing outlives the
// call, so a process may fork at any time between calls.
#pragma once
#include <cstdint>
#include <functional>

namespace rc {

// The number of threads a call may use: RAPIDCHUNK_THREADS, else OMP_NUM_THREADS (Ray, Spark and Dask set it for each
// of their workers), else one in a worker, a process that shares the machine with others like it, else the processors
// this process may run on.
int default_threads(bool worker = false);

// Calls body(i) for every i in [0, n). `grain` items are taken at a time. The first exception is thrown again here.
void parallel_for(int64_t n, int threads, int64_t grain, const std::function<void(int64_t)>& body);

}  // namespace rc
