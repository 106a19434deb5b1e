// The smallest index that any thread reports.
#pragma once
#include <atomic>
#include <cstdint>

namespace rc {

class FirstBad {
 public:
  // Takes any index; a negative one means that nothing is wrong.
  void report(int64_t index) {
    if (index < 0) return;
    int64_t seen = first_.load();
    while ((seen < 0 || index < seen) && !first_.compare_exchange_weak(seen, index)) {
    }
  }
  int64_t index() const { return first_.load(); }

 private:
  std::atomic<int64_t> first_{-1};
};

}  // namespace rc
