#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/check.h"

namespace rc {

namespace {

constexpr long kMostThreads = 4096;

// The whole number that an environment variable begins with, 0 where there is none; what follows it is at *rest.
long number_in(const char* variable, const char** rest) {
  const char* text = std::getenv(variable);
  *rest = text ? text : "";
  if (!text || !*text) return 0;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  *rest = end;
  return value;
}

}  // namespace

int default_threads(bool worker) {
  const char* rest;
  const long wanted = number_in("RAPIDCHUNK_THREADS", &rest);
  if (wanted || *rest) {
    if (*rest || wanted < 1 || wanted > kMostThreads)
      check(false, "RAPIDCHUNK_THREADS",
            "must be a whole number from 1 to 4096, not " + std::string(std::getenv("RAPIDCHUNK_THREADS")));
    return static_cast<int>(wanted);
  }
  // OpenMP's own rule: what is no number above 0 is not heeded; a list is one number a level of nesting.
  const long shared = number_in("OMP_NUM_THREADS", &rest);
  if (shared >= 1 && shared <= kMostThreads) return static_cast<int>(shared);
  if (worker) return 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(int64_t n, int threads, int64_t grain, const std::function<void(int64_t)>& body) {
  const int64_t shares = (n + grain - 1) / std::max<int64_t>(grain, 1);
  const int workers = static_cast<int>(std::min<int64_t>(threads, shares));
  if (workers <= 1) {
    for (int64_t i = 0; i < n; i++) body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::mutex guard;
  auto work = [&] {
    while (!failed) {
      const int64_t begin = next.fetch_add(grain);
      if (begin >= n) return;
      try {
        for (int64_t i = begin; i < std::min(n, begin + grain); i++) body(i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(guard);
        if (!error) error = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::thread> pool;
  for (int t = 1; t < workers; t++) pool.emplace_back(work);
  work();
  for (auto& thread : pool) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace rc
