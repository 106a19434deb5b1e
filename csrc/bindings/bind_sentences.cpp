#include <pybind11/stl.h>

#include <optional>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/text_args.h"
#include "core/check.h"
#include "core/parallel.h"
#include "sentences/sentences.h"

namespace rc {
namespace {

py::tuple spans_of_views(const std::vector<std::string_view>& views, const std::optional<std::string>& language,
                         bool newline_is_boundary, const std::optional<int>& threads) {
  const Language code = language_from_name(language ? language->c_str() : nullptr);
  check(!threads || *threads >= 1, "threads", "must be at least 1");
  const auto n = static_cast<int64_t>(views.size());
  std::vector<std::vector<Span>> found(views.size());
  std::vector<int64_t> offsets(views.size() + 1, 0), flat;
  {
    py::gil_scoped_release release;
    parallel_for(n, threads ? *threads : default_threads(), 1, [&](int64_t i) {
      const auto& text = views[static_cast<size_t>(i)];
      sentence_spans(text.data(), static_cast<int64_t>(text.size()), code, newline_is_boundary,
                     found[static_cast<size_t>(i)]);
    });
    for (size_t i = 0; i < found.size(); ++i) offsets[i + 1] = offsets[i] + static_cast<int64_t>(found[i].size());
    flat.reserve(static_cast<size_t>(2 * offsets.back()));
    for (const auto& spans : found)
      for (const Span& span : spans) flat.insert(flat.end(), {span.start, span.end});
  }
  const auto rows = static_cast<py::ssize_t>(offsets.back());
  return py::make_tuple(take(std::move(flat)).reshape({rows, py::ssize_t{2}}), take(std::move(offsets)));
}

py::tuple sentence_spans_of(const std::vector<py::bytes>& texts, const std::optional<std::string>& language,
                            bool newline_is_boundary, const std::optional<int>& threads) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return spans_of_views(views, language, newline_is_boundary, threads);
}

}  // namespace

void bind_sentences(py::module_& m) {
  m.def(
      "sentence_spans",
      [](const Texts& texts, const std::optional<std::string>& language, bool newline_is_boundary,
         const std::optional<int>& threads) {
        return spans_of_views(texts.views(), language, newline_is_boundary, threads);
      },
      py::arg("texts"), py::arg("language") = py::none(), py::arg("newline_is_boundary") = false,
      py::arg("threads") = py::none());
  m.def("sentence_spans", &sentence_spans_of, py::arg("texts"), py::arg("language") = py::none(),
        py::arg("newline_is_boundary") = false, py::arg("threads") = py::none(),
        "Sentences of UTF-8 texts: (byte spans int64 [n, 2], document offsets int64 [len(texts) + 1]).");
}

}  // namespace rc
