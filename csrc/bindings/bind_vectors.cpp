#include "bindings/bindings.h"

namespace rc {

void bind_vectors(pybind11::module_&) {}

}  // namespace rc
