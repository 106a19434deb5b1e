// Where a text may be cut without splitting what a reader sees as one character.
#pragma once
#include <cstdint>

namespace rc {

// Whether a cut at byte `at` splits no extended grapheme cluster. Clusters here are those of UAX 29 or larger (a joiner
// or a virama holds on to whatever follows), so a cut that passes is never inside a cluster. `low` bounds the look-back
// over a run of regional indicators and must itself be a boundary; at = low and at = size are boundaries.
bool is_cluster_boundary(const char* text, int64_t size, int64_t at, int64_t low);

}  // namespace rc
