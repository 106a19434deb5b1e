// Text -> sentence spans.
#pragma once
#include <cstdint>
#include <vector>

#include "core/span.h"

namespace rc {

// A language by its place in sentence_tables::languages; `automatic` takes the words of all languages together.
enum class Language : uint8_t { automatic = 0 };

// The language of an ISO 639-1 code, alone or with a region ("en", "en-GB"); nullptr and "" give `automatic`.
// Throws std::invalid_argument naming `language` for a code that is not known.
Language language_from_name(const char* name);

// Appends the sentences of `text`, which must be valid UTF-8, as byte spans in order.
//
// Every character that is not white space lies in exactly one sentence; no sentence is blank, and none begins or ends
// with white space, except that a space which carries a combining mark stays with its mark. A blank line always ends a
// sentence. A single line break ends one where a list item, a heading, a table row or a rule begins or ends, and
// everywhere when `newline_is_boundary` is set; otherwise it counts as a space, because text from PDF and e-mail is
// wrapped inside sentences. A form feed is a space. Text inside one pair of quotes or brackets stays together, unless
// it is longer than 1024 bytes.
//
// One pass in time linear in `size` for any input; allocates nothing but `out`.
void sentence_spans(const char* text, int64_t size, Language language, bool newline_is_boundary,
                    std::vector<Span>& out);

// The first place at or behind `at` where a text may be cut in two so that the sentences of its parts are those of the
// whole: behind a blank line, before a visible ASCII character. `size` if there is none.
int64_t sentence_cut(const char* text, int64_t size, int64_t at);

}  // namespace rc
