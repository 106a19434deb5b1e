// Table of contents of the extension: one bind_<stage>.cpp for each stage.
#include "bindings/bindings.h"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "The native stages of rapidchunk.";
  rc::bind_core(m);
  rc::bind_tokens(m);
  rc::bind_wordpiece(m);
  rc::bind_sentences(m);
  rc::bind_structure(m);
  rc::bind_vectors(m);
  rc::bind_similarity(m);
  rc::bind_boundaries(m);
  rc::bind_chunks(m);
}
