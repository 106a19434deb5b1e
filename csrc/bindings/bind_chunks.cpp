#include "bindings/bindings.h"

namespace rc {

void bind_chunks(pybind11::module_&) {}

}  // namespace rc
