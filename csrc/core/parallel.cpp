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

int default_threads() {
  if (const char* text = std::getenv("RAPIDCHUNK_THREADS")) {
    if (*text) {
      char* end = nullptr;
      const long value = std::strtol(text, &end, 10);
      check(*end == 0 && value >= 1 && value <= 4096, "RAPIDCHUNK_THREADS",
            std::string("must be a whole number from 1 to 4096, not ") + text);
      return static_cast<int>(value);
    }
  }
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
