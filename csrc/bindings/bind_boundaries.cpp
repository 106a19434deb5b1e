#include <memory>
#include <string>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/float_rows.h"
#include "bindings/threads_arg.h"
#include "boundaries/boundaries.h"
#include "boundaries/directional.h"
#include "core/offsets.h"

namespace rc {
namespace {

Method method_of(const std::string& name) {
  const char* names[] = {"threshold", "percentile", "std", "interquartile", "gradient", "depth"};
  for (int i = 0; i < 6; i++)
    if (name == names[i]) return static_cast<Method>(i);
  check(false, "method", "must be threshold, percentile, std, interquartile, gradient or depth, not '" + name + "'");
  return Method::threshold;
}

struct Sentences {
  View<int32_t> similarity;
  SentenceSizes sizes;
};

Sentences sentences(const py::array& similarity, const py::array& first, const py::array& last,
                    const py::array& doc_offsets) {
  const auto s = view<int32_t>(similarity, "similarity");
  const auto f = view<int64_t>(first, "first"), l = view<int64_t>(last, "last");
  const auto offsets = view<int64_t>(doc_offsets, "doc_offsets");
  check(f.rows == s.rows, "first", "must have as many entries as similarity");
  check(l.rows == s.rows, "last", "must have as many entries as similarity");
  const int64_t documents = check_offsets(offsets.data, offsets.rows, s.rows, "doc_offsets");
  return {s, {offsets.data, f.data, l.data, documents}};
}

py::array_t<uint8_t> bind_candidates(const py::array& similarity, const py::array& doc_offsets,
                                     const std::string& method, double value, const Threads& threads) {
  const auto s = view<int32_t>(similarity, "similarity");
  const auto offsets = view<int64_t>(doc_offsets, "doc_offsets");
  const int64_t documents = check_offsets(offsets.data, offsets.rows, s.rows, "doc_offsets");
  const Method rule = method_of(method);
  const int workers = thread_count(threads);
  py::array_t<uint8_t> candidate(s.rows);
  {
    uint8_t* out = candidate.mutable_data();
    py::gil_scoped_release release;
    boundary_candidates(s.data, offsets.data, documents, rule, value, out, workers);
  }
  return candidate;
}

py::array_t<uint8_t> bind_greedy_cuts(const py::array& similarity, const py::array& candidates, const py::array& first,
                                      const py::array& last, const py::array& doc_offsets, int64_t min_tokens,
                                      int64_t max_tokens, const Threads& threads) {
  const Sentences s = sentences(similarity, first, last, doc_offsets);
  const auto c = view<uint8_t>(candidates, "candidates");
  check(c.rows == s.similarity.rows, "candidates", "must have as many entries as similarity");
  const int workers = thread_count(threads);
  py::array_t<uint8_t> cut(c.rows);
  {
    uint8_t* out = cut.mutable_data();
    py::gil_scoped_release release;
    greedy_cuts(s.similarity.data, c.data, s.sizes, min_tokens, max_tokens, out, workers);
  }
  return cut;
}

py::array_t<uint8_t> bind_optimal_cuts(const py::array& similarity, const py::array& first, const py::array& last,
                                       const py::array& doc_offsets, int64_t min_tokens, int64_t max_tokens,
                                       int64_t penalty, const Threads& threads) {
  const Sentences s = sentences(similarity, first, last, doc_offsets);
  const int workers = thread_count(threads);
  py::array_t<uint8_t> cut(s.similarity.rows);
  {
    uint8_t* out = cut.mutable_data();
    py::gil_scoped_release release;
    optimal_cuts(s.similarity.data, s.sizes, min_tokens, max_tokens, penalty, out, workers);
  }
  return cut;
}

py::array_t<uint8_t> bind_directional_cuts(const py::array& vectors, const py::array& first, const py::array& last,
                                           const py::array& prior, const py::array& doc_offsets, int64_t min_tokens,
                                           int64_t max_tokens, double segment_length, const Threads& threads) {
  const FloatRows rows = float_rows(vectors, "vectors");
  const auto f = view<int64_t>(first, "first"), l = view<int64_t>(last, "last");
  const auto offsets = view<int64_t>(doc_offsets, "doc_offsets");
  const auto p = view<uint8_t>(prior, "prior");
  check(f.rows == rows.rows, "first", "must have as many entries as vectors");
  check(l.rows == rows.rows, "last", "must have as many entries as vectors");
  check(p.rows == rows.rows, "prior", "must have as many entries as vectors");
  const int64_t documents = check_offsets(offsets.data, offsets.rows, rows.rows, "doc_offsets");
  const int workers = thread_count(threads);
  py::array_t<uint8_t> cut(rows.rows);
  {
    uint8_t* out = cut.mutable_data();
    py::gil_scoped_release release;
    directional_cuts(rows.data, rows.half, rows.columns, {offsets.data, f.data, l.data, documents}, p.data,
                     {min_tokens, max_tokens, segment_length}, out, workers);
  }
  return cut;
}

// directional_cuts of one document, part by part. Keeps the arrays that it points into.
class StreamArgument {
 public:
  StreamArgument(const py::array& first, const py::array& last, const py::array& prior, int64_t min_tokens,
                 int64_t max_tokens, double segment_length)
      : arrays_{first, last, prior} {
    const auto f = view<int64_t>(first, "first"), l = view<int64_t>(last, "last");
    const auto p = view<uint8_t>(prior, "prior");
    check(l.rows == f.rows, "last", "must have as many entries as first");
    check(p.rows == f.rows, "prior", "must have as many entries as first");
    n_ = f.rows;
    const DirectionalRules rules{min_tokens, max_tokens, segment_length};
    stream_ = std::make_unique<DirectionalStream>(n_, f.data, l.data, p.data, rules);
  }

  void add(const py::array& vectors) {
    const FloatRows rows = float_rows(vectors, "vectors");
    py::gil_scoped_release release;
    stream_->add(rows.data, rows.half, rows.rows, rows.columns);
  }

  py::array_t<uint8_t> result() {
    py::array_t<uint8_t> cut(n_);
    {
      uint8_t* out = cut.mutable_data();
      py::gil_scoped_release release;
      stream_->cuts(out);
    }
    return cut;
  }

 private:
  py::array arrays_[3];
  int64_t n_ = 0;
  std::unique_ptr<DirectionalStream> stream_;
};

}  // namespace

void bind_boundaries(py::module_& m) {
  using py::arg;
  m.def("boundary_candidates", &bind_candidates, arg("similarity"), arg("doc_offsets"), arg("method"), arg("value"),
        arg("threads") = py::none());
  m.def("greedy_cuts", &bind_greedy_cuts, arg("similarity"), arg("candidates"), arg("first"), arg("last"),
        arg("doc_offsets"), arg("min_tokens"), arg("max_tokens"), arg("threads") = py::none());
  m.def("optimal_cuts", &bind_optimal_cuts, arg("similarity"), arg("first"), arg("last"), arg("doc_offsets"),
        arg("min_tokens"), arg("max_tokens"), arg("penalty") = 0, arg("threads") = py::none());
  m.def("directional_cuts", &bind_directional_cuts, arg("vectors"), arg("first"), arg("last"), arg("prior"),
        arg("doc_offsets"), arg("min_tokens"), arg("max_tokens"), arg("segment_length") = 0.0,
        arg("threads") = py::none());
  py::class_<StreamArgument>(m, "DirectionalStream")
      .def(py::init<const py::array&, const py::array&, const py::array&, int64_t, int64_t, double>(), arg("first"),
           arg("last"), arg("prior"), arg("min_tokens"), arg("max_tokens"), arg("segment_length") = 0.0)
      .def("add", &StreamArgument::add, arg("vectors"))
      .def("result", &StreamArgument::result);
}

}  // namespace rc
