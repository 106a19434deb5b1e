#include "bindings/bindings.h"

namespace rc {

void bind_tokens(pybind11::module_&) {}

}  // namespace rc
