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

// A title in one line: the line breaks of an underlined heading, and the white space beside them, become spaces.
py::str title(std::string_view text, int64_t start, int64_t end) {
  const std::string_view raw = text.substr(start, end - start);
  if (raw.find_first_of("\r\n") == std::string_view::npos) return py::str(raw.data(), raw.size());
  std::string one_line;
  for (char c : raw) {
    if (c != '\r' && c != '\n' && c != ' ' && c != '\t')
      one_line += c;
    else if (one_line.back() != ' ')
      one_line += ' ';
  }
  return py::str(one_line);
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
    BlockColumns blocks;
    std::vector<MarkdownChunk> chunks;
    std::vector<int64_t> start, end;  // code points
  };
  std::vector<Document> documents(texts.size());
  MarkdownOptions scan;
  scan.heading_levels = heading_levels;
  {
    py::gil_scoped_release release;
    parallel_for(texts.size(), threads, 1, [&](int64_t d) {
      Document& doc = documents[d];
      markdown_blocks(texts[d].data(), static_cast<int64_t>(texts[d].size()), scan, doc.blocks);
      markdown_chunks(texts[d], doc.blocks, *measures.of_document(d), options, doc.chunks);
      for (const MarkdownChunk& c : doc.chunks) {
        doc.start.push_back(c.start);
        doc.end.push_back(c.end);
      }
      if (texts.ascii(d)) return;
      const int64_t n = static_cast<int64_t>(doc.chunks.size());
      to_code_points(texts[d].data(), static_cast<int64_t>(texts[d].size()), doc.start.data(), n);
      to_code_points(texts[d].data(), static_cast<int64_t>(texts[d].size()), doc.end.data(), n);
    });
  }
  std::vector<int64_t> document, start, end, byte_start, byte_end, tokens, repeat_start, repeat_end;
  std::vector<int32_t> section, section_parent;
  std::vector<int64_t> title_end;
  std::vector<uint8_t> repeat, deferred;
  py::list titles;
  for (int64_t d = 0; d < texts.size(); ++d) {
    const Document& doc = documents[d];
    const int32_t base = static_cast<int32_t>(section_parent.size());
    start.insert(start.end(), doc.start.begin(), doc.start.end());
    end.insert(end.end(), doc.end.begin(), doc.end.end());
    for (const MarkdownChunk& c : doc.chunks) {
      document.push_back(d);
      byte_start.push_back(c.start);
      byte_end.push_back(c.end);
      tokens.push_back(c.tokens);
      section.push_back(base + c.section);
      repeat.push_back(static_cast<uint8_t>(c.repeat));
      repeat_start.push_back(c.repeat_start);
      repeat_end.push_back(c.repeat_end);
      deferred.push_back(c.deferred);
    }
    for (size_t s = 0; s < doc.blocks.section_parent.size(); ++s) {
      section_parent.push_back(s ? base + doc.blocks.section_parent[s] : -1);
      const int32_t row = doc.blocks.section_block[s];
      title_end.push_back(s ? doc.blocks.text_end[row] : 0);
      titles.append(s ? title(texts[d], doc.blocks.text_start[row], doc.blocks.text_end[row]) : py::str(""));
    }
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
  columns["section_parent"] = take(std::move(section_parent));
  columns["title_end"] = take(std::move(title_end));
  columns["titles"] = titles;
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
