#include "bindings/bindings.h"

namespace rc {

void bind_html(pybind11::module_& m);
void bind_markdown(pybind11::module_& m);

void bind_structure(pybind11::module_& m) {
  bind_html(m);
  bind_markdown(m);
}

}  // namespace rc
