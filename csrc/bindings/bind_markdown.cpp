#include <string_view>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "core/check.h"
#include "structure/markdown.h"

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

}  // namespace

void bind_markdown(py::module_& m) {
  m.def("markdown_blocks", &blocks, py::arg("text"), py::arg("heading_levels") = 0x7e, py::kw_only(),
        py::arg("front_matter") = true, py::arg("tables") = true, py::arg("math") = true, py::arg("footnotes") = true);
}

}  // namespace rc
