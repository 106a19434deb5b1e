#include "bindings/bindings.h"
#include "bindings/float_rows.h"
#include "bindings/threads_arg.h"
#include "core/offsets.h"
#include "similarity/similarity.h"

namespace rc {
namespace {

py::array_t<int32_t> bind_adjacent_similarity(const py::array& vectors, const py::array& doc_offsets, int64_t block,
                                              const Threads& threads) {
  const FloatRows rows = float_rows(vectors, "vectors");
  const auto offsets = view<int64_t>(doc_offsets, "doc_offsets");
  const int workers = thread_count(threads);
  check(block >= 1, "block", "must be at least 1");
  const int64_t documents = check_offsets(offsets.data, offsets.rows, rows.rows, "doc_offsets");
  py::array_t<int32_t> out(rows.rows);
  {
    int32_t* data = out.mutable_data();
    py::gil_scoped_release release;
    adjacent_similarity({rows.data, rows.half, rows.rows, rows.columns, offsets.data, documents, block}, data, workers);
  }
  return out;
}

}  // namespace

void bind_similarity(py::module_& m) {
  using py::arg;
  m.def("adjacent_similarity", &bind_adjacent_similarity, arg("vectors"), arg("doc_offsets"), arg("block") = 1,
        arg("threads") = py::none());
}

}  // namespace rc
