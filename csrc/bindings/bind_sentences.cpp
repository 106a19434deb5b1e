#include <pybind11/stl.h>

#include <memory>
#include <optional>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/text_args.h"
#include "bindings/threads_arg.h"
#include "bindings/work.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "sentences/sentences.h"

namespace rc {
namespace {

constexpr int64_t PIECE_BYTES = 1 << 18;

// A document, or a piece of a large one.
struct Piece {
  int64_t document, begin, end;
  std::vector<Span> spans = {};  // from the piece's beginning
  int64_t points = 0;            // the code points of the piece
};

// What the scanner is asked for. Spans are in code points if `characters`, else in bytes.
struct SpanOptions {
  Language language;
  bool newline_is_boundary, characters;
};

void scan(std::string_view text, bool ascii, const SpanOptions& options, Piece& piece) {
  const char* begin = text.data() + piece.begin;
  const int64_t size = piece.end - piece.begin;
  piece.spans.reserve(static_cast<size_t>(size / 128 + 4));
  sentence_spans(begin, size, options.language, options.newline_is_boundary, piece.spans);
  piece.points = size;
  if (!options.characters || ascii) return;
  piece.points = count_code_points(begin, size);
  // A span is two numbers in a row.
  to_code_points(begin, size, reinterpret_cast<int64_t*>(piece.spans.data()),
                 2 * static_cast<int64_t>(piece.spans.size()));
}

std::vector<Piece> pieces_of(std::string_view text, int64_t document) {
  std::vector<Piece> pieces;
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t begin = 0, end; begin < size; begin = end) {
    end = size - begin < 2 * PIECE_BYTES ? size : sentence_cut(text.data(), size, begin + PIECE_BYTES);
    pieces.push_back({document, begin, end});
  }
  return pieces;
}

// `documents` has size(), about_size(d), ascii(d) and view(d, room, threads).
template <class Documents>
py::tuple spans_of(const Documents& documents, const SpanOptions& options, const Threads& threads) {
  const int workers = thread_count(threads);
  const int64_t n = documents.size();
  std::vector<int64_t> offsets(static_cast<size_t>(n + 1), 0);
  std::unique_ptr<int64_t[]> flat;
  {
    py::gil_scoped_release release;
    const auto work = work_of(n, [&](int64_t d) { return documents.about_size(d); });
    std::vector<std::vector<Piece>> found(work.size());
    for (size_t w = 0; w < work.size(); w++) {
      if (!work[w].large) continue;
      const int64_t d = work[w].begin;
      Utf8Room room;
      const std::string_view text = documents.view(d, room, workers);
      found[w] = pieces_of(text, d);
      parallel_for(static_cast<int64_t>(found[w].size()), workers, 1,
                   [&](int64_t p) { scan(text, documents.ascii(d), options, found[w][p]); });
    }
    parallel_for(static_cast<int64_t>(work.size()), workers, 1, [&](int64_t w) {
      if (work[w].large) return;
      Utf8Room room;
      for (int64_t d = work[w].begin; d < work[w].end; d++) {
        const std::string_view text = documents.view(d, room, 1);
        found[w].push_back({d, 0, static_cast<int64_t>(text.size())});
        scan(text, documents.ascii(d), options, found[w].back());
      }
    });
    for (const auto& pieces : found)
      for (const Piece& piece : pieces) offsets[piece.document + 1] += static_cast<int64_t>(piece.spans.size());
    for (int64_t d = 0; d < n; ++d) offsets[d + 1] += offsets[d];
    flat.reset(new int64_t[static_cast<size_t>(2 * offsets.back())]);
    int64_t* out = flat.get();
    int64_t before = 0;
    for (auto& pieces : found) {
      for (Piece& piece : pieces) {
        if (piece.begin == 0) before = 0;
        for (const Span& span : piece.spans) {
          *out++ = span.start + before;
          *out++ = span.end + before;
        }
        before += piece.points;
        std::vector<Span>().swap(piece.spans);
      }
    }
  }
  const auto rows = static_cast<py::ssize_t>(offsets.back());
  return py::make_tuple(take(std::move(flat), static_cast<size_t>(2 * rows)).reshape({rows, py::ssize_t{2}}),
                        take(std::move(offsets)));
}

SpanOptions span_options(const std::optional<std::string>& language, bool newline_is_boundary, bool characters) {
  return {language_from_name(language ? language->c_str() : nullptr), newline_is_boundary, characters};
}

// UTF-8 as it lies in Python's bytes objects.
struct Utf8Documents {
  std::vector<std::string_view> views;
  int64_t size() const { return static_cast<int64_t>(views.size()); }
  int64_t about_size(int64_t d) const { return static_cast<int64_t>(views[d].size()); }
  bool ascii(int64_t) const { return true; }
  std::string_view view(int64_t d, Utf8Room&, int) const { return views[d]; }
};

}  // namespace

void bind_sentences(py::module_& m) {
  m.def(
      "sentence_spans",
      [](const Texts& texts, const std::optional<std::string>& language, bool newline_is_boundary,
         const Threads& threads, bool characters) {
        const SpanOptions options = span_options(language, newline_is_boundary, characters);
        // Byte spans are for other stages, which need the text once more.
        if (!characters) {
          py::gil_scoped_release release;
          texts.views();
        }
        return spans_of(texts, options, threads);
      },
      py::arg("texts"), py::arg("language") = py::none(), py::arg("newline_is_boundary") = false,
      py::arg("threads") = py::none(), py::arg("characters") = false);
  m.def(
      "sentence_spans",
      [](const std::vector<py::bytes>& texts, const std::optional<std::string>& language, bool newline_is_boundary,
         const Threads& threads) {
        const Utf8Documents documents{{texts.begin(), texts.end()}};
        return spans_of(documents, span_options(language, newline_is_boundary, false), threads);
      },
      py::arg("texts"), py::arg("language") = py::none(), py::arg("newline_is_boundary") = false,
      py::arg("threads") = py::none(),
      "Sentences of UTF-8 texts: (byte spans int64 [n, 2], document offsets int64 [len(texts) + 1]).");
}

}  // namespace rc
