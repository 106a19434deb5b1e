#include <optional>

#include "bindings/bindings.h"
#include "bindings/float_rows.h"
#include "bindings/threads_arg.h"
#include "core/offsets.h"
#include "vectors/pooling.h"

namespace rc {
namespace {

py::array_t<float> bind_pool_spans(const py::array& vectors, const py::array& start, const py::array& end,
                                   const std::optional<py::array>& offsets, bool normalize, const Threads& threads) {
  const FloatRows rows = float_rows(vectors, "vectors");
  const auto from = view<int64_t>(start, "start"), to = view<int64_t>(end, "end");
  const int workers = thread_count(threads);
  check(from.rows == to.rows, "end", "must have as many entries as start");
  for (int64_t p = 0; p < from.rows; p++) {
    check(from[p] >= 0 && from[p] <= to[p], "start", "must be from 0 to end");
    check(to[p] <= rows.rows, "end", "must not be beyond the vectors");
  }
  int64_t outputs = from.rows;
  const int64_t* ranges = nullptr;
  if (offsets) {
    const auto o = view<int64_t>(*offsets, "offsets");
    outputs = check_offsets(o.data, o.rows, from.rows, "offsets");
    ranges = o.data;
  }
  py::array_t<float> out({outputs, rows.columns});
  {
    float* data = out.mutable_data();
    py::gil_scoped_release release;
    pool_spans({rows.data, rows.half, rows.columns, from.data, to.data, ranges, normalize}, outputs, data, workers);
  }
  return out;
}

}  // namespace

void bind_vectors(py::module_& m) {
  using py::arg;
  m.def("pool_spans", &bind_pool_spans, arg("vectors"), arg("start"), arg("end"), arg("offsets") = py::none(),
        arg("normalize") = true, arg("threads") = py::none());
}

}  // namespace rc
