// The argument `threads` that every kernel takes: None means usual_threads().
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "core/check.h"
#include "core/parallel.h"

namespace rc {

// Whether `multiprocessing` started this process; needs the GIL.
inline bool is_worker() {
  PyObject* processes = PyDict_GetItemString(PyImport_GetModuleDict(), "multiprocessing.process");
  return processes && !pybind11::handle(processes).attr("parent_process")().is_none();
}

// The threads of a call that names none; needs the GIL.
inline int usual_threads() { return default_threads(is_worker()); }

using Threads = std::optional<int>;

inline int thread_count(const Threads& threads) {
  if (!threads) return usual_threads();
  check(*threads >= 1 && *threads <= 4096, "threads", "must be from 1 to 4096");
  return *threads;
}

}  // namespace rc
