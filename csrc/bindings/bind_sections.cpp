#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "bindings/array_args.h"
#include "bindings/level_arg.h"
#include "bindings/measure_arg.h"
#include "bindings/text_args.h"
#include "chunks/sections.h"
#include "core/check.h"
#include "core/parallel.h"
#include "core/utf8.h"

namespace rc {
namespace {

template <class T>
View<T> column(const py::dict& columns, const char* name) {
  check(columns.contains(name), name, "must be among the columns");
  return view<T>(columns[name].cast<py::array>(), name);
}

void check_offsets(const View<int64_t>& offsets, int64_t n, int64_t last, const char* name) {
  check(offsets.size() == n + 1 && offsets[0] == 0 && offsets[n] == last, name, "must fit the other columns");
  for (int64_t i = 0; i < n; i++) check(offsets[i] <= offsets[i + 1], name, "must not decrease");
}

void check_spans(const View<int64_t>& start, const View<int64_t>& end, const View<int64_t>& offsets, const Texts& texts,
                 const char* name) {
  check(start.size() == end.size(), name, "must have as many starts as ends");
  check_offsets(offsets, texts.size(), start.size(), "offsets");
  for (int64_t d = 0; d < texts.size(); d++) {
    for (int64_t i = offsets[d], before = 0; i < offsets[d + 1]; before = start[i++])
      check(before <= start[i] && start[i] <= end[i] && end[i] <= static_cast<int64_t>(texts[d].size()), name,
            "must be in order and inside the document");
  }
}

void check_numbers(const View<int64_t>& numbers, int64_t least, int64_t n, const char* name) {
  for (int64_t i = 0; i < numbers.size(); i++)
    check(numbers[i] >= least && numbers[i] < n, name, "must be numbers of other rows");
}

// The columns of the sections of a batch.
struct Sections {
  View<int64_t> offsets, start, end, path, path_parent, tables, table_start, table_end, rows, row;
  View<uint8_t> bare, apart, loose;

  Sections(const py::dict& c, const Texts& texts)
      : offsets(column<int64_t>(c, "offsets")),
        start(column<int64_t>(c, "start")),
        end(column<int64_t>(c, "end")),
        path(column<int64_t>(c, "path")),
        path_parent(column<int64_t>(c, "path_parent")),
        tables(column<int64_t>(c, "tables")),
        table_start(column<int64_t>(c, "table_start")),
        table_end(column<int64_t>(c, "table_end")),
        rows(column<int64_t>(c, "rows")),
        row(column<int64_t>(c, "row")),
        bare(column<uint8_t>(c, "bare")),
        apart(column<uint8_t>(c, "apart")),
        loose(column<uint8_t>(c, "loose")) {
    const int64_t n = start.size(), t = table_start.size();
    check_spans(start, end, offsets, texts, "sections");
    check(path.size() == n && bare.size() == n && apart.size() == n, "sections", "must have columns of one length");
    check_numbers(path, -1, path_parent.size(), "path");
    for (int64_t i = 0; i < path_parent.size(); i++)
      check(path_parent[i] >= -1 && path_parent[i] < i, "path_parent", "must be before its paths");
    check(table_end.size() == t && loose.size() == t, "tables", "must have columns of one length");
    check_offsets(tables, n, t, "tables");
    check_offsets(rows, t, row.size(), "rows");
    for (int64_t s = 0; s < n; s++) {
      for (int64_t i = tables[s], before = start[s]; i < tables[s + 1]; before = table_end[i++]) {
        check(before <= table_start[i] && table_start[i] <= table_end[i] && table_end[i] <= end[s], "tables",
              "must be in order and inside of their section");
        for (int64_t r = rows[i]; r < rows[i + 1]; r++)
          check(row[r] >= (r > rows[i] ? row[r - 1] : table_start[i]) && row[r] <= table_end[i], "rows",
                "must be in order and inside of their table");
      }
    }
  }

  SectionColumns of_document(int64_t d) const {
    const int64_t at = offsets[d];
    SectionColumns c;
    c.n = offsets[d + 1] - at;
    c.start = start.data + at;
    c.end = end.data + at;
    c.bare = bare.data + at;
    c.apart = apart.data + at;
    c.path = path.data + at;
    c.first_table = tables.data + at;  // numbers of the batch, as those of rows are
    c.table_start = table_start.data;
    c.table_end = table_end.data;
    c.loose = loose.data;
    c.first_row = rows.data;
    c.row = row.data;
    return c;
  }
};

// The columns of section_pieces.
struct Pieces {
  View<int64_t> part_offsets, part_start, part_end, part_section, part_table, offsets, start, end, tokens, part;

  Pieces(const py::dict& c, const Sections& sections, const Texts& texts)
      : part_offsets(column<int64_t>(c, "part_offsets")),
        part_start(column<int64_t>(c, "part_start")),
        part_end(column<int64_t>(c, "part_end")),
        part_section(column<int64_t>(c, "part_section")),
        part_table(column<int64_t>(c, "part_table")),
        offsets(column<int64_t>(c, "offsets")),
        start(column<int64_t>(c, "byte_start")),
        end(column<int64_t>(c, "byte_end")),
        tokens(column<int64_t>(c, "tokens")),
        part(column<int64_t>(c, "part")) {
    const int64_t n = part_start.size();
    check_spans(part_start, part_end, part_offsets, texts, "parts");
    check(part_section.size() == n && part_table.size() == n, "parts", "must have columns of one length");
    check_numbers(part_table, -1, sections.table_start.size(), "part_table");
    check_spans(start, end, offsets, texts, "pieces");
    check(tokens.size() == start.size() && part.size() == start.size(), "pieces", "must have columns of one length");
    for (int64_t d = 0; d < texts.size(); d++) {
      for (int64_t p = part_offsets[d]; p < part_offsets[d + 1]; p++)
        check(part_section[p] >= sections.offsets[d] && part_section[p] < sections.offsets[d + 1], "part_section",
              "must be a section of the document");
      for (int64_t i = offsets[d]; i < offsets[d + 1]; i++)
        check(part[i] >= part_offsets[d] && part[i] < part_offsets[d + 1], "part", "must be a part of the document");
    }
  }

  std::vector<SectionPart> parts_of(int64_t d, int64_t first_section) const {
    std::vector<SectionPart> found;
    for (int64_t p = part_offsets[d]; p < part_offsets[d + 1]; p++)
      found.push_back({part_start[p], part_end[p], part_section[p] - first_section, part_table[p]});
    return found;
  }
  std::vector<SectionPiece> pieces_of(int64_t d) const {
    std::vector<SectionPiece> found;
    for (int64_t i = offsets[d]; i < offsets[d + 1]; i++)
      found.push_back({start[i], end[i], tokens[i], part[i] - part_offsets[d]});
    return found;
  }
};

// Columns that are filled row by row, in one piece of memory.
template <size_t N>
class Filled {
 public:
  explicit Filled(size_t rows) : rows_(rows), values_(new int64_t[N * rows]) {}
  template <class... Values>
  void add(Values... values) {
    static_assert(sizeof...(Values) == N);
    size_t column = 0;
    ((values_[column++ * rows_ + row_] = values), ...);
    row_++;
  }
  int64_t size() const { return static_cast<int64_t>(row_); }
  void give(py::dict& out, const std::array<const char*, N>& names) {
    const py::tuple columns = take_columns(std::move(values_), N, rows_);
    for (size_t i = 0; i < N; i++) out[names[i]] = columns[i];
  }

 private:
  size_t rows_, row_ = 0;
  std::unique_ptr<int64_t[]> values_;
};

std::vector<LevelArgument> level_arguments(const py::list& levels, int64_t documents) {
  std::vector<LevelArgument> arguments;
  for (const auto& item : levels) arguments.push_back(level_argument(item, documents));
  return arguments;
}

std::vector<Level> of_document(const std::vector<LevelArgument>& arguments, int64_t d) {
  std::vector<Level> levels;
  for (const LevelArgument& argument : arguments) levels.push_back(argument.of_document(d));
  return levels;
}

template <class Rows>
size_t rows_in(const std::vector<Rows>& documents) {
  size_t n = 0;
  for (const Rows& rows : documents) n += rows.size();
  return n;
}

py::dict pieces_of_batch(const Texts& texts, const py::object& measure, const py::dict& columns, const py::list& levels,
                         int64_t max_tokens, int threads) {
  check(max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  const Sections sections(columns, texts);
  const MeasureArgument measures(texts, measure);
  if (measures.one_thread()) threads = 1;
  const auto arguments = level_arguments(levels, texts.size());
  std::vector<std::vector<SectionPart>> parts(texts.size());
  std::vector<std::vector<SectionPiece>> pieces(texts.size());
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 16, [&](int64_t d) {
      section_pieces(texts[d], sections.of_document(d), *measures.of_document(d), of_document(arguments, d), max_tokens,
                     parts[d], pieces[d]);
    });
  }
  Filled<4> part_columns(rows_in(parts));
  Filled<4> piece_columns(rows_in(pieces));
  std::vector<int64_t> part_offsets{0}, offsets{0};
  for (int64_t d = 0; d < texts.size(); d++) {
    for (const SectionPart& p : parts[d]) part_columns.add(p.start, p.end, p.section + sections.offsets[d], p.table);
    for (const SectionPiece& p : pieces[d]) piece_columns.add(p.start, p.end, p.tokens, p.part + part_offsets.back());
    part_offsets.push_back(part_columns.size());
    offsets.push_back(piece_columns.size());
  }
  py::dict out;
  out["part_offsets"] = take(std::move(part_offsets));
  part_columns.give(out, {"part_start", "part_end", "part_section", "part_table"});
  out["offsets"] = take(std::move(offsets));
  piece_columns.give(out, {"byte_start", "byte_end", "tokens", "part"});
  return out;
}

py::array groups_of_batch(const Texts& texts, const py::dict& section_columns, const py::dict& piece_columns,
                          const std::optional<py::array>& room_left, const SectionGroupOptions& options) {
  check(options.max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  const Sections sections(section_columns, texts);
  const Pieces pieces(piece_columns, sections, texts);
  const PathTree paths(sections.path_parent.data, sections.path_parent.size());
  const auto left = room_left ? view<int64_t>(*room_left, "room_left") : View<int64_t>{};
  check(!room_left || left.size() == pieces.part_start.size(), "room_left", "must be as long as the parts");
  std::vector<int64_t> out;
  {
    py::gil_scoped_release release;
    std::vector<SectionGroup> groups;
    for (int64_t d = 0; d < texts.size(); d++) {
      const auto parts = pieces.parts_of(d, sections.offsets[d]);
      const auto own = pieces.pieces_of(d);
      groups.clear();
      section_groups(sections.of_document(d), paths, parts.data(), own.data(), static_cast<int64_t>(own.size()),
                     room_left ? left.data + pieces.part_offsets[d] : nullptr, options, groups);
      for (const SectionGroup& g : groups)
        out.insert(out.end(), {g.first + pieces.offsets[d], g.last + pieces.offsets[d]});
    }
  }
  const auto rows = static_cast<py::ssize_t>(out.size() / 2);
  return take(std::move(out)).reshape({rows, py::ssize_t{2}});
}

py::dict chunks_of_batch(const Texts& texts, const py::object& measure, const py::dict& section_columns,
                         const py::dict& piece_columns, const py::array& groups, const py::list& levels,
                         int64_t max_tokens, int threads) {
  check(max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  const Sections sections(section_columns, texts);
  const Pieces pieces(piece_columns, sections, texts);
  const PathTree paths(sections.path_parent.data, sections.path_parent.size());
  const MeasureArgument measures(texts, measure);
  if (measures.one_thread()) threads = 1;
  const auto arguments = level_arguments(levels, texts.size());
  const auto g = view<int64_t>(groups, "groups", 2);
  check(g.columns == 2, "groups", "must have two columns");
  // The groups of each document.
  std::vector<int64_t> bounds{0};
  for (int64_t d = 0, i = 0; d < texts.size(); d++) {
    for (; i < g.rows && g[2 * i] < pieces.offsets[d + 1]; i++)
      check(g[2 * i] >= (i > bounds.back() ? g[2 * i - 2] : pieces.offsets[d]) && g[2 * i] <= g[2 * i + 1] &&
                g[2 * i + 1] < pieces.offsets[d + 1],
            "groups", "must be runs of a document's pieces, in order");
    bounds.push_back(i);
  }
  check(bounds.back() == g.rows, "groups", "must be runs of a document's pieces, in order");
  struct Document {
    std::vector<SectionChunk> chunks;
    std::vector<int64_t> points;
    size_t size() const { return chunks.size(); }
  };
  std::vector<Document> documents(texts.size());
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 16, [&](int64_t d) {
      Document& doc = documents[d];
      const auto parts = pieces.parts_of(d, sections.offsets[d]);
      const auto own = pieces.pieces_of(d);
      std::vector<SectionGroup> runs;
      for (int64_t i = bounds[d]; i < bounds[d + 1]; i++)
        runs.push_back({g[2 * i] - pieces.offsets[d], g[2 * i + 1] - pieces.offsets[d]});
      const std::string_view text = texts[d];
      section_chunks(text, sections.of_document(d), paths, parts.data(), static_cast<int64_t>(parts.size()), own.data(),
                     static_cast<int64_t>(own.size()), runs.data(), static_cast<int64_t>(runs.size()),
                     *measures.of_document(d), of_document(arguments, d), max_tokens, doc.chunks);
      if (texts.ascii(d)) return;
      for (const SectionChunk& c : doc.chunks) doc.points.insert(doc.points.end(), {c.start, c.end});
      to_code_points(text.data(), static_cast<int64_t>(text.size()), doc.points.data(),
                     static_cast<int64_t>(doc.points.size()));
    });
  }
  Filled<11> rows(rows_in(documents));
  for (int64_t d = 0; d < texts.size(); d++) {
    const Document& doc = documents[d];
    const int64_t base = pieces.part_offsets[d];
    for (size_t i = 0; i < doc.chunks.size(); i++) {
      const SectionChunk& c = doc.chunks[i];
      const bool same = doc.points.empty();
      rows.add(d, same ? c.start : doc.points[2 * i], same ? c.end : doc.points[2 * i + 1], c.start, c.end, c.tokens,
               c.first + base, c.main + base, c.last + base, c.path, c.into);
    }
  }
  py::dict out;
  rows.give(out,
            {"document", "start", "end", "byte_start", "byte_end", "tokens", "first", "main", "last", "path", "into"});
  return out;
}

}  // namespace

void bind_sections(py::module_& m) {
  m.def("section_pieces", &pieces_of_batch, py::arg("texts"), py::arg("measure"), py::arg("sections"),
        py::arg("levels"), py::kw_only(), py::arg("max_tokens"), py::arg("threads") = 1);
  m.def(
      "section_groups",
      [](const Texts& texts, const py::dict& sections, const py::dict& pieces, int64_t max_tokens, int64_t min_tokens,
         bool fill, const std::optional<py::array>& room_left) {
        return groups_of_batch(texts, sections, pieces, room_left, {max_tokens, min_tokens, fill});
      },
      py::arg("texts"), py::arg("sections"), py::arg("pieces"), py::kw_only(), py::arg("max_tokens"),
      py::arg("min_tokens") = 0, py::arg("fill") = false, py::arg("room_left") = py::none());
  m.def("section_chunks", &chunks_of_batch, py::arg("texts"), py::arg("measure"), py::arg("sections"),
        py::arg("pieces"), py::arg("groups"), py::arg("levels"), py::kw_only(), py::arg("max_tokens"),
        py::arg("threads") = 1);
}

}  // namespace rc
