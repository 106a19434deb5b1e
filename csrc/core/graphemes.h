// Where a text may be cut without splitting what a reader sees as one character.
#pragma once
#include <cstdint>

namespace rc {

bool is_cluster_boundary_at(const char* text, int64_t size, int64_t at, int64_t low);

// Whether a cut at byte `at` splits no extended grapheme cluster. Clusters here are those of UAX 29 or larger (a joiner
// or a virama holds on to whatever follows), so a cut that passes is never inside a cluster. `low` bounds the look-back
// over a run of regional indicators and must itself be a boundary; at = low and at = size are boundaries.
inline bool is_cluster_boundary(const char* text, int64_t size, int64_t at, int64_t low) {
  if (at <= low || at >= size) return true;
  if (static_cast<int8_t>(text[at]) >= 0 && static_cast<int8_t>(text[at - 1]) >= 0)
    return !(text[at] == '\n' && text[at - 1] == '\r');
  return is_cluster_boundary_at(text, size, at, low);
}

}  // namespace rc
