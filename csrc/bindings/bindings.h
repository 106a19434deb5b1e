#pragma once
#include <pybind11/pybind11.h>

namespace rc {

void bind_core(pybind11::module_& m);
void bind_tokens(pybind11::module_& m);
void bind_wordpiece(pybind11::module_& m);
void bind_sentences(pybind11::module_& m);
void bind_structure(pybind11::module_& m);
void bind_vectors(pybind11::module_& m);
void bind_similarity(pybind11::module_& m);
void bind_boundaries(pybind11::module_& m);
void bind_chunks(pybind11::module_& m);

}  // namespace rc
