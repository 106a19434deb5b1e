#include <algorithm>
#include <memory>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/level_arg.h"
#include "bindings/measure_arg.h"
#include "bindings/text_args.h"
#include "bindings/work.h"
#include "chunks/pack.h"
#include "core/check.h"
#include "core/parallel.h"

namespace rc {
namespace {

Keep keep_argument(const std::string& keep) {
  if (keep == "end") return Keep::end;
  if (keep == "start") return Keep::start;
  check(keep == "drop", "keep", "must be \"end\", \"start\" or \"drop\"");
  return Keep::drop;
}

// The chunks of some neighbouring documents.
struct Part {
  std::vector<PackedChunk> chunks;
  std::vector<size_t> ends;     // where the chunks of each document end
  std::vector<int64_t> points;  // the starts and ends in code points; empty where all documents are ASCII
};

// Writes the starts and ends of a document's chunks in code points. Several threads share runs of chunks; what comes
// before each run is counted first.
void add_points(std::string_view text, bool ascii, bool characters, size_t from, int threads, Part& part) {
  if (ascii && part.points.empty()) return;
  for (size_t i = part.points.size() / 2; i < part.chunks.size(); i++)
    part.points.insert(part.points.end(), {part.chunks[i].start, part.chunks[i].end});
  if (ascii) return;
  const auto count = [&text, of = RC_PICK(count_code_points)](int64_t start, int64_t end) {
    return of(text.data() + start, end - start);
  };
  const PackedChunk* chunks = part.chunks.data() + from;
  int64_t* points = part.points.data() + 2 * from;
  const auto n = static_cast<int64_t>(part.chunks.size() - from);
  // Chunks [first, last); there are `point` code points before byte `at`.
  const auto write = [&](int64_t first, int64_t last, int64_t at, int64_t point) {
    for (int64_t i = first; i < last; i++) {
      const PackedChunk& chunk = chunks[i];
      point += chunk.start >= at ? count(at, chunk.start) : -count(chunk.start, at);
      points[2 * i] = point;
      // Where tokens are code points, only what lies between the chunks is counted.
      points[2 * i + 1] = point += characters ? chunk.tokens : count(chunk.start, chunk.end);
      at = chunk.end;
    }
  };
  const int64_t runs = threads > 1 ? std::min<int64_t>(4 * threads, n / 256) : 0;
  if (runs <= 1) return write(0, n, 0, 0);
  const auto first = [&](int64_t run) { return n * run / runs; };
  const auto begin = [&](int64_t run) { return run ? chunks[first(run)].start : 0; };
  std::vector<int64_t> before(runs, 0);
  parallel_for(runs - 1, threads, 1, [&](int64_t run) { before[run + 1] = count(begin(run), begin(run + 1)); });
  for (int64_t run = 1; run < runs; run++) before[run] += before[run - 1];
  parallel_for(runs, threads, 1, [&](int64_t run) { write(first(run), first(run + 1), begin(run), before[run]); });
}

py::tuple pack_batch(const Texts& texts, const py::object& measure, const py::list& levels, const std::string& keep,
                     int64_t max_tokens, int64_t min_tokens, int64_t overlap, int64_t special_tokens, int threads) {
  check(max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  check(min_tokens >= 0 && min_tokens <= max_tokens, "min_tokens", "must be between 0 and max_tokens");
  check(overlap >= 0 && overlap < max_tokens, "overlap", "must be at least 0 and less than max_tokens");
  const PackOptions options{max_tokens, min_tokens, overlap, keep_argument(keep)};
  std::vector<LevelArgument> arguments;
  for (const auto& item : levels) arguments.push_back(level_argument(item, texts.size()));

  const MeasureArgument measures(texts, measure);
  if (measures.one_thread()) threads = 1;
  const auto work = work_of(texts.size(), [&](int64_t d) { return texts.about_size(d); });
  std::vector<Part> parts(work.size());
  enum : size_t { DOCUMENT, START, END, BYTE_START, BYTE_END, TOKENS, COLUMNS };
  std::unique_ptr<int64_t[]> columns;  // one after the other
  size_t rows = 0;
  {
    py::gil_scoped_release release;
    const auto pack_work = [&](size_t w, int workers) {
      Part& part = parts[w];
      Utf8Room room;
      std::vector<Level> document_levels(arguments.size());
      for (int64_t d = work[w].begin; d < work[w].end; d++) {
        for (size_t i = 0; i < arguments.size(); i++) document_levels[i] = arguments[i].of_document(d);
        const size_t from = part.chunks.size();
        const std::string_view text = texts.view(d, room, workers);
        if (workers > 1)
          pack_large(
              text, [&] { return measures.of_document(d, text); }, document_levels, options, workers, part.chunks);
        else
          pack(text, 0, static_cast<int64_t>(text.size()), *measures.of_document(d, text), document_levels, options,
               part.chunks);
        part.ends.push_back(part.chunks.size());
        add_points(text, texts.ascii(d), measures.characters(), from, workers, part);
      }
    };
    const auto alone = [&](size_t w) { return work[w].large && threads > 1; };
    for (size_t w = 0; w < work.size(); w++)
      if (alone(w)) pack_work(w, threads);
    parallel_for(static_cast<int64_t>(work.size()), threads, 1, [&](int64_t w) {
      if (!alone(w)) pack_work(w, 1);
    });
    std::vector<size_t> bases;
    for (const Part& part : parts) {
      bases.push_back(rows);
      rows += part.chunks.size();
    }
    columns.reset(new int64_t[COLUMNS * rows]);
    const auto column = [&](size_t number) { return columns.get() + number * rows; };
    parallel_for(static_cast<int64_t>(work.size()), threads, 4, [&](int64_t w) {
      Part& part = parts[w];
      const size_t base = bases[w], n = part.chunks.size();
      int64_t* numbers = column(DOCUMENT) + base;
      size_t from = 0;
      for (size_t d = 0; d < part.ends.size(); from = part.ends[d++])
        std::fill(numbers + from, numbers + part.ends[d], work[w].begin + static_cast<int64_t>(d));
      int64_t *start = column(START) + base, *end = column(END) + base, *byte_start = column(BYTE_START) + base,
              *byte_end = column(BYTE_END) + base, *tokens = column(TOKENS) + base;
      for (size_t i = 0; i < n; i++) {
        const PackedChunk& chunk = part.chunks[i];
        start[i] = byte_start[i] = chunk.start;
        end[i] = byte_end[i] = chunk.end;
        tokens[i] = chunk.tokens + special_tokens;
      }
      for (size_t i = 0; i < part.points.size() / 2; i++) {
        start[i] = part.points[2 * i];
        end[i] = part.points[2 * i + 1];
      }
      part = {};
    });
  }
  return take_columns(std::move(columns), COLUMNS, rows);
}

void check_spans(const Texts& texts, const View<int64_t>& spans, const View<int64_t>& offsets) {
  check(spans.columns == 2, "spans", "must have two columns");
  check(offsets.size() == texts.size() + 1 && offsets[0] == 0 && offsets[texts.size()] == spans.rows, "offsets",
        "must fit the spans and the documents");
  for (int64_t d = 0; d < texts.size(); d++) {
    check(offsets[d] <= offsets[d + 1], "offsets", "must not decrease");
    int64_t before = 0;
    for (int64_t i = offsets[d]; i < offsets[d + 1]; i++) {
      const int64_t start = spans[2 * i], end = spans[2 * i + 1];
      check(start >= before && start <= end && end <= static_cast<int64_t>(texts[d].size()), "spans",
            "must be in order and inside the document");
      before = start;
    }
  }
}

// Each span that is larger than max_tokens is cut at the levels' boundaries; the others stay as they are.
py::tuple split_spans(const Texts& texts, const py::object& measure, const py::array& spans, const py::array& offsets,
                      const py::list& levels, int64_t max_tokens, int threads) {
  check(max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  const auto s = view<int64_t>(spans, "spans", 2), o = view<int64_t>(offsets, "offsets");
  check_spans(texts, s, o);
  const MeasureArgument measures(texts, measure);
  if (measures.one_thread()) threads = 1;
  std::vector<LevelArgument> arguments;
  for (const auto& item : levels) arguments.push_back(level_argument(item, texts.size()));
  PackOptions options;
  options.max_tokens = max_tokens;
  std::vector<std::vector<PackedChunk>> found(texts.size());
  std::vector<int64_t> out_spans, out_offsets{0}, out_tokens;
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 16, [&](int64_t d) {
      const auto of = measures.of_document(d);
      std::vector<Level> document_levels;
      for (const LevelArgument& argument : arguments) document_levels.push_back(argument.of_document(d));
      for (int64_t i = o[d]; i < o[d + 1]; i++)
        pack(texts[d], s[2 * i], s[2 * i + 1], *of, document_levels, options, found[d]);
    });
    for (const auto& pieces : found) {
      for (const PackedChunk& piece : pieces) {
        out_spans.insert(out_spans.end(), {piece.start, piece.end});
        out_tokens.push_back(piece.tokens);
      }
      out_offsets.push_back(static_cast<int64_t>(out_tokens.size()));
    }
  }
  const auto rows = static_cast<py::ssize_t>(out_tokens.size());
  return py::make_tuple(take(std::move(out_spans)).reshape({rows, py::ssize_t{2}}), take(std::move(out_offsets)),
                        take(std::move(out_tokens)));
}

// The token ranks of the spans' starts and ends in their document: the tokens of spans i to j together are last[j] -
// first[i].
py::tuple span_ranks(const Texts& texts, const py::object& measure, const py::array& spans, const py::array& offsets,
                     int threads) {
  const auto s = view<int64_t>(spans, "spans", 2), o = view<int64_t>(offsets, "offsets");
  check_spans(texts, s, o);
  const MeasureArgument measures(texts, measure);
  std::vector<int64_t> first(s.rows), last(s.rows);
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 16, [&](int64_t d) {
      const auto of = measures.of_document(d);
      int64_t at = 0, rank = 0;
      for (int64_t i = o[d]; i < o[d + 1]; i++) {
        const int64_t start = s[2 * i], end = s[2 * i + 1];
        if (start >= at) {
          rank += of->starts(at, start);
        } else {
          rank -= of->starts(start, at);  // overlapping spans
        }
        // A dropped character before the first token looks like the inside of one.
        first[i] = std::max<int64_t>(0, rank - of->inside(start));
        rank += of->starts(start, end);
        last[i] = rank;
        at = end;
      }
    });
  }
  return py::make_tuple(take(std::move(first)), take(std::move(last)));
}

// What stands before each span: 0 nothing but a space, 1 a line break, 2 a blank line, 3 it is a Markdown heading.
py::array breaks_before(const Texts& texts, const py::array& spans, const py::array& offsets) {
  const auto s = view<int64_t>(spans, "spans", 2), o = view<int64_t>(offsets, "offsets");
  check_spans(texts, s, o);
  std::vector<uint8_t> out(s.rows);
  for (int64_t d = 0; d < texts.size(); d++) {
    const std::string_view text = texts[d];
    for (int64_t i = o[d], at = 0; i < o[d + 1]; at = s[2 * i + 1], i++) {
      const int64_t start = s[2 * i];
      const auto lines = std::count(text.begin() + std::min(at, start), text.begin() + start, '\n');
      int64_t marks = start;
      while (marks < s[2 * i + 1] && text[marks] == '#') marks++;
      const bool heading = marks > start && marks - start <= 6 && marks < s[2 * i + 1] && text[marks] == ' ' && lines;
      out[i] = static_cast<uint8_t>(heading ? 3 : std::min<int64_t>(lines, 2));
    }
  }
  return take(std::move(out));
}

}  // namespace

void bind_sections(py::module_& m);

void bind_chunks(py::module_& m) {
  bind_sections(m);
  m.def("split_spans", &split_spans, py::arg("texts"), py::arg("measure"), py::arg("spans"), py::arg("offsets"),
        py::arg("levels"), py::kw_only(), py::arg("max_tokens"), py::arg("threads") = 1);
  m.def("span_ranks", &span_ranks, py::arg("texts"), py::arg("measure"), py::arg("spans"), py::arg("offsets"),
        py::arg("threads") = 1);
  m.def("breaks_before", &breaks_before, py::arg("texts"), py::arg("spans"), py::arg("offsets"));
  m.def("pack", &pack_batch, py::arg("texts"), py::arg("measure"), py::arg("levels"), py::kw_only(),
        py::arg("keep") = "end", py::arg("max_tokens"), py::arg("min_tokens") = 0, py::arg("overlap") = 0,
        py::arg("special_tokens") = 0, py::arg("threads") = 1);
}

}  // namespace rc
