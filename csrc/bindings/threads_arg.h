// The argument `threads` that every kernel takes: None means default_threads().
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "core/check.h"
#include "core/parallel.h"

namespace rc {

using Threads = std::optional<int>;

inline int thread_count(const Threads& threads) {
  if (!threads) return default_threads();
  check(*threads >= 1 && *threads <= 4096, "threads", "must be from 1 to 4096");
  return *threads;
}

}  // namespace rc
