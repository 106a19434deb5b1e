#include "bindings/bindings.h"

namespace rc {

void bind_sentences(pybind11::module_&) {}

}  // namespace rc
