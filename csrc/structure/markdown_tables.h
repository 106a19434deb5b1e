// The rows of pipe tables.
#pragma once
#include "structure/markdown_characters.h"

namespace rc::markdown {

// Cells of a row, or 0 where it has no pipe. A pipe after a backslash is text.
int64_t row_cells(Text row);

// Cells of a delimiter row such as |---|:-:|, or 0 when it is none.
int64_t delimiter_cells(Text row);

}  // namespace rc::markdown
