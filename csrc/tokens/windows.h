// Token windows: which tokens each window holds, and the gather of those tokens into arrays for an encoder.
//
// The bodies are plain functions that CUDA can call as well; the entry points loop over documents or windows.
#pragma once
#include "core/lanes.h"

namespace rc {

enum class Tail : int { keep = 0, drop = 1, join = 2 };

// Windows of max_tokens that advance by max_tokens - overlap. The last one is the first that reaches the end of the
// document, so no window holds only what its predecessor holds. An empty document has none.
RC_BODY int64_t window_count(int64_t tokens, int64_t max_tokens, int64_t overlap, Tail tail, int64_t min_tokens) {
  if (tokens <= 0) return 0;
  if (tokens <= max_tokens) return 1;
  const int64_t step = max_tokens - overlap;
  const int64_t count = 1 + (tokens - max_tokens + step - 1) / step;
  const int64_t rest = tokens - (count - 1) * step;
  return tail == Tail::drop && rest < min_tokens ? count - 1 : count;
}

// Window k of a document that has `count` windows, relative to the document's first token.
RC_BODY void window_at(int64_t k, int64_t count, int64_t tokens, int64_t max_tokens, int64_t overlap, Tail tail,
                       int64_t min_tokens, int64_t* start, int64_t* end) {
  const int64_t step = max_tokens - overlap;
  *start = k * step;
  *end = *start + max_tokens < tokens ? *start + max_tokens : tokens;
  if (tail != Tail::join || count < 2 || tokens - (count - 1) * step >= min_tokens) return;
  // A full window and a short one never fit into one, so the two share: the last takes min_tokens, the overlap stays.
  const int64_t last = tokens - min_tokens;
  if (k == count - 1) {
    *start = last;
  } else if (k == count - 2) {
    *end = last + overlap < *start + max_tokens ? last + overlap : *start + max_tokens;
  }
}

#if !defined(__CUDACC__)

// offsets [documents + 1]; the three arrays of window_total() entries are written.
int64_t window_total(const int64_t* offsets, int64_t documents, int64_t max_tokens, int64_t overlap, Tail tail,
                     int64_t min_tokens);
void token_windows(const int64_t* offsets, int64_t documents, int64_t max_tokens, int64_t overlap, Tail tail,
                   int64_t min_tokens, int32_t* document, int64_t* start, int64_t* end, int threads);

struct WindowTokens {
  const int32_t* ids;
  int64_t tokens;
  const int64_t *start, *end;
  int64_t windows;
  const int32_t* prefix;
  int64_t prefix_size;
  const int32_t* suffix;
  int64_t suffix_size;
};

// The most tokens in a window, prefix and suffix included; 0 without windows. Checks that windows lie within ids.
int64_t window_longest(const WindowTokens& w);
// ids and mask [windows, length], padded at the end.
void gather_windows(const WindowTokens& w, int32_t pad_id, int64_t length, int64_t* ids, int64_t* mask, int threads);

// cu_seqlens [windows + 1]: where each window begins in the packed arrays. Returns the number of packed tokens.
int64_t window_offsets(const WindowTokens& w, int32_t* cu_seqlens);
void pack_windows(const WindowTokens& w, const int32_t* cu_seqlens, int32_t* ids, int32_t* position, int threads);

#endif
}  // namespace rc
