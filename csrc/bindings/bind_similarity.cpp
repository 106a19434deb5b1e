#include "bindings/bindings.h"

namespace rc {

void bind_similarity(pybind11::module_&) {}

}  // namespace rc
