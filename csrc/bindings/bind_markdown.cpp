#include <memory>
#include <string>
#include <string_view>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/measure_arg.h"
#include "bindings/text_args.h"
#include "core/check.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "structure/markdown.h"
#include "structure/markdown_chunks.h"

namespace rc {
namespace {

py::dict blocks(std::string_view text, uint32_t heading_levels, bool front_matter, bool tables, bool math,
                bool footnotes) {
  check(heading_levels < 128, "heading_levels", "must be a set of bits 1 to 6");
  BlockColumns c;
  {
    py::gil_scoped_release release;
    markdown_blocks(text.data(), static_cast<int64_t>(text.size()),
                    {heading_levels, front_matter, tables, math, footnotes}, c);
  }
  py::dict columns;
  columns["kind"] = take(std::move(c.kind));
  columns["start"] = take(std::move(c.start));
  columns["end"] = take(std::move(c.end));
  columns["level"] = take(std::move(c.level));
  columns["text_start"] = take(std::move(c.text_start));
  columns["text_end"] = take(std::move(c.text_end));
  columns["parent"] = take(std::move(c.parent));
  columns["section"] = take(std::move(c.section));
  columns["section_parent"] = take(std::move(c.section_parent));
  columns["section_level"] = take(std::move(c.section_level));
  columns["section_block"] = take(std::move(c.section_block));
  columns["section_start"] = take(std::move(c.section_start));
  columns["section_end"] = take(std::move(c.section_end));
  return columns;
}

// Byte positions of chunks (start and end in turn) to code points. Without overlap they rise, and one pass is enough.
void points_of(std::string_view text, bool overlap, std::vector<int64_t>& points) {
  const int64_t size = static_cast<int64_t>(text.size()), n = static_cast<int64_t>(points.size());
  if (!overlap) return to_code_points(text.data(), size, points.data(), n);
  std::vector<int64_t> side(points.size() / 2);
  for (size_t first : {0, 1}) {
    for (size_t i = 0; i < side.size(); ++i) side[i] = points[2 * i + first];
    to_code_points(text.data(), size, side.data(), n / 2);
    for (size_t i = 0; i < side.size(); ++i) points[2 * i + first] = side[i];
  }
}

py::dict chunks(const Texts& texts, const py::object& measure, const MarkdownChunkOptions& options,
                uint32_t heading_levels, int threads) {
  check(options.max_tokens >= 1, "max_tokens", "must be at least 1 beside the special tokens");
  check(options.min_tokens >= 0 && options.min_tokens <= options.max_tokens, "min_tokens",
        "must be between 0 and max_tokens");
  check(options.overlap >= 0 && options.overlap < options.max_tokens, "overlap",
        "must be at least 0 and less than max_tokens");
  check(heading_levels < 128, "heading_levels", "must be a set of bits 1 to 6");
  const MeasureArgument measures(texts, measure);
  if (measures.one_thread()) threads = 1;

  struct Document {
    std::vector<MarkdownChunk> chunks;
    std::vector<int64_t> points;  // start and end of each chunk, in code points
    std::vector<int32_t> section_parent;
    std::vector<Span> title;
  };
  std::vector<Document> documents(texts.size());
  MarkdownOptions scan;
  scan.heading_levels = heading_levels;
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 1, [&](int64_t d) {
      // Blocks are needed until the chunks are made; columns that have grown serve the next document too.
      static thread_local BlockColumns blocks;
      Document& doc = documents[d];
      const std::string_view text = texts[d];
      const int64_t size = static_cast<int64_t>(text.size());
      markdown_blocks(text.data(), size, scan, blocks);
      markdown_chunks(text, blocks, *measures.of_document(d), options, doc.chunks);
      doc.section_parent = blocks.section_parent;
      for (int32_t row : blocks.section_block)
        doc.title.push_back(row < 0 ? Span{0, 0} : Span{blocks.text_start[row], blocks.text_end[row]});
      for (const MarkdownChunk& c : doc.chunks) doc.points.insert(doc.points.end(), {c.start, c.end});
      if (!texts.ascii(d)) points_of(text, options.overlap > 0, doc.points);
      if (blocks.kind.capacity() > 65536) blocks = {};
    });
  }
  size_t rows = 0, sections = 0;
  for (const Document& doc : documents) {
    rows += doc.chunks.size();
    sections += doc.section_parent.size();
  }
  std::vector<int64_t> document(rows), start(rows), end(rows), byte_start(rows), byte_end(rows), tokens(rows),
      repeat_start(rows), repeat_end(rows), section_document(sections), title_start(sections), title_end(sections);
  std::vector<int32_t> section(rows), section_parent(sections);
  std::vector<uint8_t> repeat(rows), deferred(rows);
  size_t row = 0, base = 0;
  for (int64_t d = 0; d < texts.size(); ++d) {
    const Document& doc = documents[d];
    for (size_t i = 0; i < doc.chunks.size(); ++i, ++row) {
      const MarkdownChunk& c = doc.chunks[i];
      document[row] = d;
      start[row] = doc.points[2 * i];
      end[row] = doc.points[2 * i + 1];
      byte_start[row] = c.start;
      byte_end[row] = c.end;
      tokens[row] = c.tokens;
      section[row] = static_cast<int32_t>(base) + c.section;
      repeat[row] = static_cast<uint8_t>(c.repeat);
      repeat_start[row] = c.repeat_start;
      repeat_end[row] = c.repeat_end;
      deferred[row] = c.deferred;
    }
    for (size_t s = 0; s < doc.section_parent.size(); ++s) {
      section_document[base + s] = d;
      section_parent[base + s] = s ? static_cast<int32_t>(base) + doc.section_parent[s] : -1;
      title_start[base + s] = doc.title[s].start;
      title_end[base + s] = doc.title[s].end;
    }
    base += doc.section_parent.size();
  }
  py::dict columns;
  columns["document"] = take(std::move(document));
  columns["start"] = take(std::move(start));
  columns["end"] = take(std::move(end));
  columns["byte_start"] = take(std::move(byte_start));
  columns["byte_end"] = take(std::move(byte_end));
  columns["tokens"] = take(std::move(tokens));
  columns["section"] = take(std::move(section));
  columns["repeat"] = take(std::move(repeat));
  columns["repeat_start"] = take(std::move(repeat_start));
  columns["repeat_end"] = take(std::move(repeat_end));
  columns["deferred"] = take(std::move(deferred));
  columns["section_document"] = take(std::move(section_document));
  columns["section_parent"] = take(std::move(section_parent));
  columns["title_start"] = take(std::move(title_start));
  columns["title_end"] = take(std::move(title_end));
  return columns;
}

}  // namespace

void bind_markdown(py::module_& m) {
  m.def("markdown_blocks", &blocks, py::arg("text"), py::arg("heading_levels") = 0x7e, py::kw_only(),
        py::arg("front_matter") = true, py::arg("tables") = true, py::arg("math") = true, py::arg("footnotes") = true);
  m.def(
      "markdown_chunks",
      [](const Texts& texts, const py::object& measure, int64_t max_tokens, int64_t min_tokens, int64_t overlap,
         bool keep_headings, bool reserve_headings, int64_t joint, bool defer, uint32_t heading_levels, int threads) {
        MarkdownChunkOptions options{max_tokens, min_tokens, overlap, keep_headings, reserve_headings, joint, defer};
        return chunks(texts, measure, options, heading_levels, threads);
      },
      py::arg("texts"), py::arg("measure"), py::kw_only(), py::arg("max_tokens"), py::arg("min_tokens") = 0,
      py::arg("overlap") = 0, py::arg("keep_headings") = true, py::arg("reserve_headings") = false,
      py::arg("joint") = 0, py::arg("defer") = false, py::arg("heading_levels") = 0x7e, py::arg("threads") = 1);
}

}  // namespace rc
