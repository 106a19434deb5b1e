// HTML blocks: which lines begin one, of which of CommonMark's seven kinds, and which end it.
#pragma once
#include "structure/markdown_characters.h"

namespace rc::markdown {

// The kind of the block that a line begins, `rest` from its '<' on, or 0.
int html_kind(Text rest);

// Whether the line is the last of a block of this kind. Kinds 6 and 7 end at a blank line.
bool html_ends(int kind, Text line);

}  // namespace rc::markdown
