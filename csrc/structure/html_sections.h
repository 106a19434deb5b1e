// The text of a page and where its headings, section elements and tables are -> sections, in columns.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/span.h"
#include "structure/html.h"

namespace rc {

// The sections of one or more documents, in the columns that the stage of sections takes (chunks/sections.h).
struct HtmlSections {
  std::vector<int64_t> start, end, path;
  std::vector<uint8_t> bare;
  std::vector<int64_t> path_parent;
  std::vector<Span> title;         // of each path: where its last title is first
  std::vector<int64_t> tables{0};  // by section: where its tables end
  std::vector<int64_t> table_start, table_end;
  std::vector<int64_t> head_end;  // where the header rows end, which a table begins with; -1: it has none
  std::vector<uint8_t> loose;
  std::vector<int64_t> rows{0}, row;  // by table: where its rows end; where a piece may begin
};

// Headings begin sections. Those inside of a section element are below those outside, and end with it. Appends the
// sections of a document.
void html_sections(const HtmlText& page, HtmlSections& sections);

}  // namespace rc
