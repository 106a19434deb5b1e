#include "bindings/bindings.h"

namespace rc {

void bind_wordpiece(pybind11::module_&) {}

}  // namespace rc
