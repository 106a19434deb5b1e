// Link definitions: [label]: destination "title", over the lines of a paragraph.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/span.h"

namespace rc::markdown {

struct ParagraphLine {
  int64_t start, text, text_end, next;  // whole line; its text without indentation and container marks
};

// Reads one definition that begins at line `from`. Returns the line after it, or `from` when there is none.
size_t read_definition(const char* text, const std::vector<ParagraphLine>& lines, size_t from, Span& label);

}  // namespace rc::markdown
