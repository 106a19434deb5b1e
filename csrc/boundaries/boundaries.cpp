#include "boundaries/boundaries.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/parallel.h"

namespace rc {
namespace {

constexpr int64_t kGrain = 16;  // documents a thread takes at a time
constexpr int64_t kMost = (int64_t{1} << 31) - 1;

// Scratch that a thread keeps for the documents of one call.
template <class T>
T* scratch(std::vector<T>& memory, int64_t size) {
  if (static_cast<int64_t>(memory.size()) < size) memory.resize(size);
  return memory.data();
}

int64_t parameter(Method method, double value) {
  check(std::isfinite(value), "value", "must be finite");
  if (method == Method::threshold)
    check(value >= -1 && value <= 1, "value", "must be from -1 to 1 (a cosine)");
  else if (method == Method::percentile || method == Method::gradient)
    check(value >= 0 && value <= 100, "value", "must be from 0 to 100 (a percentile)");
  else
    check(value >= -100 && value <= 100, "value", "must be from -100 to 100");
  return std::llround(value * static_cast<double>(kMillion));
}

}  // namespace

void check_limits(int64_t min_tokens, int64_t max_tokens) {
  check(max_tokens >= 1 && max_tokens <= kMost, "max_tokens", "must be from 1 to 2^31 - 1");
  check(min_tokens >= 0 && min_tokens <= max_tokens, "min_tokens", "must be from 0 to max_tokens");
}

void check_sizes(const SentenceSizes& s) {
  for (int64_t d = 0; d < s.documents; d++) {
    check(s.offsets[d + 1] - s.offsets[d] <= kMost, "doc_offsets", "must give a document at most 2^31 - 1 sentences");
    for (int64_t i = s.offsets[d]; i < s.offsets[d + 1]; i++) {
      check(s.first[i] >= 0 && s.first[i] <= s.last[i], "first", "must be from 0 to last");
      check(s.last[i] <= int64_t{1} << 52, "last", "must be at most 2^52");
      if (i == s.offsets[d]) continue;
      check(s.first[i] >= s.first[i - 1], "first", "must not fall within a document");
      check(s.last[i] >= s.last[i - 1], "last", "must not fall within a document");
    }
  }
}

void boundary_candidates(const int32_t* similarity, const int64_t* offsets, int64_t documents, Method method,
                         double value, uint8_t* candidate, int threads) {
  const int64_t millionths = parameter(method, value);
  for (int64_t d = 0; d < documents; d++) {
    check(offsets[d + 1] - offsets[d] <= kMost, "doc_offsets", "must give a document at most 2^31 - 1 sentences");
    for (int64_t i = offsets[d]; i + 1 < offsets[d + 1]; i++)
      check(similarity[i] >= -kOne && similarity[i] <= kOne, "similarity", "must be from -2^20 to 2^20");
  }
  parallel_for(documents, threads, kGrain, [&](int64_t d) {
    thread_local std::vector<int32_t> measure, more;
    const int64_t begin = offsets[d], n = offsets[d + 1] - begin;
    if (n)
      candidates_document(similarity + begin, n, method, millionths, scratch(measure, n), scratch(more, n),
                          candidate + begin);
  });
}

void greedy_cuts(const int32_t* similarity, const uint8_t* candidate, const SentenceSizes& s, int64_t min_tokens,
                 int64_t max_tokens, uint8_t* cut, int threads) {
  check_limits(min_tokens, max_tokens);
  check_sizes(s);
  parallel_for(s.documents, threads, kGrain, [&](int64_t d) {
    thread_local std::vector<int64_t> queue;
    const int64_t begin = s.offsets[d], n = s.offsets[d + 1] - begin;
    std::fill_n(cut + begin, n, uint8_t{0});
    greedy_document(similarity + begin, candidate + begin, s.first + begin, s.last + begin, n, min_tokens, max_tokens,
                    scratch(queue, n), cut + begin);
  });
}

void optimal_cuts(const int32_t* similarity, const SentenceSizes& s, int64_t min_tokens, int64_t max_tokens,
                  int64_t penalty, uint8_t* cut, int threads) {
  check_limits(min_tokens, max_tokens);
  check(penalty >= -kMost && penalty <= kMost, "penalty", "must be within +-(2^31 - 1)");
  check_sizes(s);
  parallel_for(s.documents, threads, kGrain, [&](int64_t d) {
    thread_local std::vector<Cost> cost;
    thread_local std::vector<int64_t> from, full, tight;
    const int64_t begin = s.offsets[d], n = s.offsets[d + 1] - begin;
    std::fill_n(cut + begin, n, uint8_t{0});
    optimal_document(similarity + begin, s.first + begin, s.last + begin, n, min_tokens, max_tokens, penalty,
                     scratch(cost, n + 1), scratch(from, n + 1), scratch(full, n + 1), scratch(tight, n + 1),
                     cut + begin);
  });
}

}  // namespace rc
