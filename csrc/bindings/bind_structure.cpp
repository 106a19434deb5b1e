#include "bindings/bindings.h"

namespace rc {

void bind_structure(pybind11::module_&) {}

}  // namespace rc
