#include "bindings/bindings.h"
#include "core/parallel.h"
#include "core/simd.h"

namespace rc {

void bind_core(pybind11::module_& m) {
  m.def("simd_level", [] { return simd_name(simd_level()); });
  m.def("default_threads", &default_threads);
}

}  // namespace rc
