// Text to static vectors in one pass: WordPiece, gather, mean and norm of a sentence before the next one is looked at.
#pragma once
#include <string_view>
#include <vector>

#include "core/span.h"
#include "tokens/token_index.h"
#include "tokens/wordpiece.h"
#include "vectors/static_table.h"

namespace rc {

// Output s is of the bytes spans[s] of texts[document[s]], tokenised alone. `tokens`: null, or the texts' indexes with
// the ids of `wordpiece`, which are taken wherever a span alone has the same. Throws if an output is not finite.
void static_vectors(const std::vector<std::string_view>& texts, const int64_t* document, const Span* spans, int64_t n,
                    const WordPiece& wordpiece, const std::vector<TokenIndex>* tokens, const StaticTable& table,
                    bool normalize, float* out, int threads);

}  // namespace rc
