#include "bindings/bindings.h"
#include "bindings/float_rows.h"
#include "bindings/threads_arg.h"
#include "core/offsets.h"
#include "similarity/scores.h"
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

py::array_t<float> bind_chunk_scores(const py::array& vectors, const py::array& query, const py::array& start,
                                     const py::array& end, float share, const Threads& threads) {
  const FloatRows rows = float_rows(vectors, "vectors");
  const auto q = view<float>(query, "query");
  const auto from = view<int64_t>(start, "start"), to = view<int64_t>(end, "end");
  const int workers = thread_count(threads);
  check(q.rows == rows.columns, "query", "must have as many entries as a vector");
  check(from.rows == to.rows, "end", "must have as many entries as start");
  for (int64_t c = 0; c < from.rows; c++) {
    check(from[c] >= 0 && from[c] <= to[c], "start", "must be from 0 to end");
    check(to[c] <= rows.rows, "end", "must not be beyond the vectors");
  }
  py::array_t<float> out(from.rows);
  {
    float* data = out.mutable_data();
    py::gil_scoped_release release;
    chunk_scores({rows.data, rows.half, rows.rows, rows.columns, q.data, from.data, to.data, from.rows, share}, data,
                 workers);
  }
  return out;
}

}  // namespace

void bind_similarity(py::module_& m) {
  using py::arg;
  m.def("adjacent_similarity", &bind_adjacent_similarity, arg("vectors"), arg("doc_offsets"), arg("block") = 1,
        arg("threads") = py::none());
  m.def("chunk_scores", &bind_chunk_scores, arg("vectors"), arg("query"), arg("start"), arg("end"), arg("share") = 0.5f,
        arg("threads") = py::none());
}

}  // namespace rc
