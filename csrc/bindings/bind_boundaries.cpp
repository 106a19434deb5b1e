#include "bindings/bindings.h"

namespace rc {

void bind_boundaries(pybind11::module_&) {}

}  // namespace rc
