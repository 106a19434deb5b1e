// WordPiece tokens as a token index: long documents are tokenised in pieces, so that token columns never exist as a
// whole.
#pragma once
#include <string_view>
#include <vector>

#include "tokens/token_index.h"
#include "tokens/wordpiece.h"

namespace rc {

// The indexes of many documents. Long documents are cut at white space, and their pieces worked on in parallel; the
// result does not depend on `threads`. `keep_ids`: the indexes know their tokens' ids, too.
std::vector<TokenIndex> wordpiece_indexes(const std::vector<std::string_view>& texts, const WordPiece& wordpiece,
                                          bool keep_ids, int threads);

}  // namespace rc
