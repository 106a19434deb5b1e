// Blocks and sections of a Markdown document -> chunks.
//
// A section that fits is one chunk. A longer one is packed at its blocks: between blocks first, then between the items
// and paragraphs within, the lines of code and the rows of tables, sentences, lines, words. A table or fenced code
// block that is itself too long is cut between rows or lines only; its header rows, or its fences, are to be repeated
// in the context of every piece and are counted. Sections without text of their own go with the next one. Chunks under
// the minimum are merged, by preference with a neighbour of the same parent.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "chunks/measure.h"
#include "structure/markdown.h"

namespace rc {

struct MarkdownChunkOptions {
  int64_t max_tokens = 0;  // special tokens already taken off
  int64_t min_tokens = 0;
  int64_t overlap = 0;            // in text that is packed; not between sections, rows of a table or lines of code
  bool keep_headings = true;      // false: a chunk begins after its section's heading
  bool reserve_headings = false;  // leave room for the heading path: its titles, `joint` tokens after each
  int64_t joint = 0;
  bool defer = false;  // leave text that is too long uncut, for another chunker
};

// What the context of a piece of a table or of code repeats before and after it. In a short header the delimiter row
// has no more than three dashes in a row.
enum class Repeat : uint8_t { nothing, table_header, short_table_header, fences, closing_fence, opening_fence };

struct MarkdownChunk {
  int64_t start, end, tokens;
  int32_t section;  // the innermost section that holds all of its text
  Repeat repeat = Repeat::nothing;
  int64_t repeat_start = 0, repeat_end = 0;  // header rows, or the opening fence's line
  bool deferred = false;                     // too long, left to another chunker
};

void markdown_chunks(std::string_view text, const BlockColumns& blocks, const Measure& measure,
                     const MarkdownChunkOptions& options, std::vector<MarkdownChunk>& out);

}  // namespace rc
