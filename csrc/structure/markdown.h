// Markdown text -> blocks and sections, in one pass over the lines.
//
// The rules are CommonMark 0.31 with pipe tables, front matter, display math and footnotes. A block is a range of whole
// lines; blocks stand in the order in which they begin, a container (block quote, list item, footnote) before what it
// holds. Blank lines belong to no block, except between the lines of one. Time is linear in the input: containers nest
// at most kMaxDepth deep (what is deeper is text), and every look-ahead keeps what it has found.
#pragma once
#include <cstdint>
#include <vector>

#include "core/simd.h"
#include "core/span.h"

namespace rc {

enum class BlockKind : uint8_t {
  heading,
  paragraph,
  fenced_code,
  indented_code,
  html,
  block_quote,
  list_item,
  table,
  front_matter,
  math,
  footnote,
  link_definition,
  thematic_break,
};

struct MarkdownOptions {
  uint32_t heading_levels = 0x7e;  // bit n: a heading of level n begins a section
  bool front_matter = true;        // --- or +++ at the start, first line within not blank, up to the same line again
  bool tables = true;              // header row, delimiter row of as many cells, rows
  bool math = true;                // $$ … $$ and \[ … \], no blank line within, else it is a paragraph
  bool footnotes = true;           // [^label]: …
};

// One row a block, and one row a section. Positions are bytes of the text.
struct BlockColumns {
  std::vector<uint8_t> kind;
  std::vector<int64_t> start, end;  // from a line's start (after a byte order mark) to after its last line's break
  // heading: 1 to 6; list item, block quote: how many of its kind it stands in, itself included; otherwise 0.
  std::vector<int32_t> level;
  // heading: title without marks; fenced code: info string; table: header and delimiter rows; front matter: what is
  // between the marks; list item: its marker; footnote, link definition: its label; otherwise empty.
  std::vector<int64_t> text_start, text_end;
  std::vector<int32_t> parent;   // row of the container, or -1
  std::vector<int32_t> section;  // row in the section columns

  // Section 0 is the document. A heading outside of every container begins a section, which ends before the next
  // heading of the same or a higher rank; subsections are within.
  std::vector<int32_t> section_parent, section_level, section_block;  // -1, 0 and -1 for section 0
  std::vector<int64_t> section_start, section_end;

  void clear() {  // without giving memory back
    kind.clear();
    for (auto* column : {&start, &end, &text_start, &text_end, &section_start, &section_end}) column->clear();
    for (auto* column : {&level, &parent, &section, &section_parent, &section_level, &section_block}) column->clear();
  }
};

constexpr int kMaxDepth = 64;

// Replaces what `out` holds.
void markdown_blocks(const char* text, int64_t size, const MarkdownOptions& options, BlockColumns& out);

// Positions of \n and \r in text[begin, end), at most `capacity` (64 or more). Returns how many; *next is where to go
// on.
RC_DECLARE_SIMD(int64_t line_breaks(const char* text, int64_t begin, int64_t end, int64_t* positions, int64_t capacity,
                                    int64_t* next);)

}  // namespace rc
