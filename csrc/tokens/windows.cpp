#include "tokens/windows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/parallel.h"

namespace rc {
namespace {

constexpr int64_t kGrain = 256;  // windows or documents a thread takes at a time

}  // namespace

int64_t window_total(const int64_t* offsets, int64_t documents, int64_t max_tokens, int64_t overlap, Tail tail,
                     int64_t min_tokens) {
  check(max_tokens >= 1 && max_tokens <= std::numeric_limits<int32_t>::max(), "max_tokens",
        "must be from 1 to 2^31 - 1");
  check(overlap >= 0 && overlap < max_tokens, "overlap", "must be at least 0 and less than max_tokens");
  check(min_tokens >= 0 && min_tokens <= max_tokens, "min_tokens", "must be from 0 to max_tokens");
  check(documents <= std::numeric_limits<int32_t>::max(), "doc_offsets", "must hold fewer than 2^31 documents");
  int64_t total = 0;
  for (int64_t d = 0; d < documents; d++)
    total += window_count(offsets[d + 1] - offsets[d], max_tokens, overlap, tail, min_tokens);
  return total;
}

void token_windows(const int64_t* offsets, int64_t documents, int64_t max_tokens, int64_t overlap, Tail tail,
                   int64_t min_tokens, int32_t* document, int64_t* start, int64_t* end, int threads) {
  std::vector<int64_t> begins(documents + 1, 0);
  for (int64_t d = 0; d < documents; d++)
    begins[d + 1] = begins[d] + window_count(offsets[d + 1] - offsets[d], max_tokens, overlap, tail, min_tokens);
  parallel_for(documents, threads, kGrain, [&](int64_t d) {
    const int64_t tokens = offsets[d + 1] - offsets[d], count = begins[d + 1] - begins[d];
    for (int64_t k = 0; k < count; k++) {
      const int64_t w = begins[d] + k;
      window_at(k, count, tokens, max_tokens, overlap, tail, min_tokens, start + w, end + w);
      start[w] += offsets[d];
      end[w] += offsets[d];
      document[w] = static_cast<int32_t>(d);
    }
  });
}

int64_t window_longest(const WindowTokens& w) {
  int64_t longest = 0;
  for (int64_t b = 0; b < w.windows; b++) {
    check(w.start[b] >= 0 && w.start[b] <= w.end[b], "start", "must be from 0 to end");
    check(w.end[b] <= w.tokens, "end", "must not be beyond the ids");
    longest = std::max(longest, w.end[b] - w.start[b]);
  }
  return w.windows ? longest + w.prefix_size + w.suffix_size : 0;
}

void gather_windows(const WindowTokens& w, int32_t pad_id, int64_t length, int64_t* ids, int64_t* mask, int threads) {
  parallel_for(w.windows, threads, kGrain, [&](int64_t b) {
    int64_t* out = ids + b * length;
    const int64_t* row = out;
    out = std::copy(w.prefix, w.prefix + w.prefix_size, out);
    out = std::copy(w.ids + w.start[b], w.ids + w.end[b], out);
    out = std::copy(w.suffix, w.suffix + w.suffix_size, out);
    const int64_t used = out - row;
    std::fill_n(out, length - used, pad_id);
    std::fill_n(mask + b * length, used, 1);
    std::fill_n(mask + b * length + used, length - used, 0);
  });
}

int64_t window_offsets(const WindowTokens& w, int32_t* cu_seqlens) {
  int64_t total = 0;
  cu_seqlens[0] = 0;
  for (int64_t b = 0; b < w.windows; b++) {
    total += w.end[b] - w.start[b] + w.prefix_size + w.suffix_size;
    check(total <= std::numeric_limits<int32_t>::max(), "start", "and end must give fewer than 2^31 packed tokens");
    cu_seqlens[b + 1] = static_cast<int32_t>(total);
  }
  return total;
}

void pack_windows(const WindowTokens& w, const int32_t* cu_seqlens, int32_t* ids, int32_t* position, int threads) {
  parallel_for(w.windows, threads, kGrain, [&](int64_t b) {
    int32_t* out = ids + cu_seqlens[b];
    out = std::copy(w.prefix, w.prefix + w.prefix_size, out);
    out = std::copy(w.ids + w.start[b], w.ids + w.end[b], out);
    std::copy(w.suffix, w.suffix + w.suffix_size, out);
    for (int32_t i = cu_seqlens[b]; i < cu_seqlens[b + 1]; i++) position[i] = i - cu_seqlens[b];
  });
}

}  // namespace rc
