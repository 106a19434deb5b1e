#include <optional>

#include "bindings/bindings.h"
#include "bindings/float_rows.h"
#include "bindings/text_args.h"
#include "bindings/threads_arg.h"
#include "core/offsets.h"
#include "vectors/pooling.h"
#include "vectors/static_table.h"
#include "vectors/static_texts.h"

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

StaticTable static_table(const py::array& table, const std::optional<py::array>& scale, int32_t skip) {
  StaticTable found{};
  if (table.dtype().equal(py::dtype::of<int8_t>())) {
    const auto rows = view<int8_t>(table, "table", 2);
    found = {rows.data, StaticTable::Type::int8, nullptr, rows.rows, rows.columns, skip};
  } else {
    const FloatRows rows = float_rows(table, "table");
    found = {rows.data,    rows.half ? StaticTable::Type::half : StaticTable::Type::single,
             nullptr,      rows.rows,
             rows.columns, skip};
  }
  if (scale) {
    const auto factors = view<float>(*scale, "scale");
    check(factors.rows == found.tokens, "scale", "must have as many entries as the table has rows");
    found.scale = factors.data;
  }
  return found;
}

py::array_t<float> bind_gather_mean(const py::array& table, const std::optional<py::array>& scale, const py::array& ids,
                                    const py::array& offsets, int32_t skip, bool normalize, const Threads& threads) {
  const StaticTable rows = static_table(table, scale, skip);
  const auto tokens = view<int32_t>(ids, "ids");
  const auto bounds = view<int64_t>(offsets, "offsets");
  const int64_t outputs = check_offsets(bounds.data, bounds.rows, tokens.rows, "offsets");
  const int workers = thread_count(threads);
  py::array_t<float> out({outputs, rows.H});
  {
    float* data = out.mutable_data();
    py::gil_scoped_release release;
    gather_mean(rows, tokens.data, bounds.data, outputs, normalize, data, workers);
  }
  return out;
}

py::array_t<float> bind_static_vectors(const Texts& texts, const py::array& document, const py::array& spans,
                                       const WordPiece& wordpiece, const py::array& table,
                                       const std::optional<py::array>& scale, int32_t skip, bool normalize,
                                       const Threads& threads, const TokenIndexes* tokens) {
  const StaticTable rows = static_table(table, scale, skip);
  // Token indexes without ids, or with those of another tokenizer, are of no use here.
  if (tokens && tokens->ids_of != &wordpiece) tokens = nullptr;
  check(!tokens || static_cast<int64_t>(tokens->documents.size()) == texts.size(), "tokens",
        "must have an index for each text");
  const auto documents = view<int64_t>(document, "document");
  const auto pairs = view<int64_t>(spans, "spans", 2);
  check(pairs.columns == 2, "spans", "must have two columns");
  check(pairs.rows == documents.rows, "spans", "must have as many rows as document has entries");
  const auto* first = reinterpret_cast<const Span*>(pairs.data);
  for (int64_t s = 0; s < pairs.rows; s++) {
    check(documents[s] >= 0 && documents[s] < texts.size(), "document", "must be numbers of the texts");
    const auto size = static_cast<int64_t>(texts[documents[s]].size());
    check(0 <= first[s].start && first[s].start <= first[s].end && first[s].end <= size, "spans",
          "must be inside their texts");
  }
  const int workers = thread_count(threads);
  py::array_t<float> out({pairs.rows, rows.H});
  {
    float* data = out.mutable_data();
    py::gil_scoped_release release;
    static_vectors(texts.views(), documents.data, first, pairs.rows, wordpiece, tokens ? &tokens->documents : nullptr,
                   rows, normalize, data, workers);
  }
  return out;
}

}  // namespace

void bind_vectors(py::module_& m) {
  using py::arg;
  m.def("gather_mean", &bind_gather_mean, arg("table"), arg("scale"), arg("ids"), arg("offsets"), arg("skip") = -1,
        arg("normalize") = true, arg("threads") = py::none());
  m.def("static_vectors", &bind_static_vectors, arg("texts"), arg("document"), arg("spans"), arg("wordpiece"),
        arg("table"), arg("scale"), arg("skip") = -1, arg("normalize") = true, arg("threads") = py::none(),
        arg("tokens") = py::none());
  m.def("pool_spans", &bind_pool_spans, arg("vectors"), arg("start"), arg("end"), arg("offsets") = py::none(),
        arg("normalize") = true, arg("threads") = py::none());
}

}  // namespace rc
