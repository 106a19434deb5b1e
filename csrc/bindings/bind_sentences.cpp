#include <pybind11/stl.h>

#include <functional>
#include <memory>
#include <optional>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/text_args.h"
#include "bindings/threads_arg.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "sentences/sentences.h"

namespace rc {
namespace {

constexpr int64_t PIECE_BYTES = 1 << 20;

struct Piece {
  size_t document;
  int64_t begin, end;
  std::vector<Span> spans = {};  // from the piece's beginning
  int64_t points = 0;            // the code points of the piece
};

// `ascii`: none for spans in bytes, else spans are in code points, which are bytes in the documents that it marks.
py::tuple spans_of_views(const std::vector<std::string_view>& views, const std::function<bool(int64_t)>& ascii,
                         const std::optional<std::string>& language, bool newline_is_boundary, const Threads& threads) {
  const Language code = language_from_name(language ? language->c_str() : nullptr);
  const int workers = thread_count(threads);
  std::vector<int64_t> offsets(views.size() + 1, 0);
  std::unique_ptr<int64_t[]> flat;
  {
    py::gil_scoped_release release;
    std::vector<Piece> pieces;
    for (size_t d = 0; d < views.size(); ++d) {
      const auto size = static_cast<int64_t>(views[d].size());
      for (int64_t begin = 0, end; begin < size; begin = end) {
        end = size - begin < 2 * PIECE_BYTES ? size : sentence_cut(views[d].data(), size, begin + PIECE_BYTES);
        pieces.push_back({d, begin, end});
      }
    }
    const auto n = static_cast<int64_t>(pieces.size());
    parallel_for(n, workers, 4, [&](int64_t p) {
      Piece& piece = pieces[p];
      const char* text = views[piece.document].data() + piece.begin;
      const int64_t size = piece.end - piece.begin;
      piece.spans.reserve(static_cast<size_t>(size / 128 + 4));
      sentence_spans(text, size, code, newline_is_boundary, piece.spans);
      piece.points = size;
      if (!ascii || ascii(static_cast<int64_t>(piece.document))) return;
      piece.points = count_code_points(text, size);
      // A span is two numbers in a row.
      to_code_points(text, size, reinterpret_cast<int64_t*>(piece.spans.data()),
                     2 * static_cast<int64_t>(piece.spans.size()));
    });
    for (const Piece& piece : pieces) offsets[piece.document + 1] += static_cast<int64_t>(piece.spans.size());
    for (size_t d = 0; d < views.size(); ++d) offsets[d + 1] += offsets[d];
    flat.reset(new int64_t[static_cast<size_t>(2 * offsets.back())]);
    int64_t* out = flat.get();
    int64_t before = 0;
    for (size_t p = 0; p < pieces.size(); ++p) {
      Piece& piece = pieces[p];
      if (piece.begin == 0) before = 0;
      for (const Span& span : piece.spans) {
        *out++ = span.start + before;
        *out++ = span.end + before;
      }
      before += piece.points;
      std::vector<Span>().swap(piece.spans);
    }
  }
  const auto rows = static_cast<py::ssize_t>(offsets.back());
  return py::make_tuple(take(std::move(flat), static_cast<size_t>(2 * rows)).reshape({rows, py::ssize_t{2}}),
                        take(std::move(offsets)));
}

}  // namespace

void bind_sentences(py::module_& m) {
  m.def(
      "sentence_spans",
      [](const Texts& texts, const std::optional<std::string>& language, bool newline_is_boundary,
         const Threads& threads, bool characters) {
        std::function<bool(int64_t)> ascii;
        if (characters) ascii = [&](int64_t d) { return texts.ascii(d); };
        return spans_of_views(texts.views(), ascii, language, newline_is_boundary, threads);
      },
      py::arg("texts"), py::arg("language") = py::none(), py::arg("newline_is_boundary") = false,
      py::arg("threads") = py::none(), py::arg("characters") = false);
  m.def(
      "sentence_spans",
      [](const std::vector<py::bytes>& texts, const std::optional<std::string>& language, bool newline_is_boundary,
         const Threads& threads) {
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        return spans_of_views(views, {}, language, newline_is_boundary, threads);
      },
      py::arg("texts"), py::arg("language") = py::none(), py::arg("newline_is_boundary") = false,
      py::arg("threads") = py::none(),
      "Sentences of UTF-8 texts: (byte spans int64 [n, 2], document offsets int64 [len(texts) + 1]).");
}

}  // namespace rc
