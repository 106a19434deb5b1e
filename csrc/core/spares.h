// Work space that calls borrow and give back, so that what it has learnt serves the next call.
#pragma once
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace rc {

// At most kKept objects wait. A processor gets back what it gave, if that is still there, because it has it in its own
// cache: with one stack for all, two threads that take document after document would exchange their objects all the
// time. Nobody waits for another (nor for a thread that was lost in a fork): where nothing is there, one is made.
template <class T>
class Spares {
 public:
  Spares() = default;
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;
  ~Spares() {
    for (auto& place : places_) delete place.load();
  }

  std::unique_ptr<T> borrow() {
    const size_t own = processor();
    for (size_t i = 0; i < kKept; i++) {
      auto& place = places_[(own + i) % kKept];
      if (!place.load(std::memory_order_relaxed)) continue;
      if (T* found = place.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<T>(found);
    }
    return std::make_unique<T>();
  }

  void give_back(std::unique_ptr<T> object) {
    const size_t own = processor();
    for (size_t i = 0; i < kKept; i++) {
      T* none = nullptr;
      if (!places_[(own + i) % kKept].compare_exchange_strong(none, object.get(), std::memory_order_release)) continue;
      object.release();
      return;
    }
  }

 private:
  static constexpr size_t kKept = 64;

  static size_t processor() {
    const int number = sched_getcpu();
    return number < 0 ? 0 : static_cast<size_t>(number);
  }

  std::array<std::atomic<T*>, kKept> places_{};
};

}  // namespace rc
