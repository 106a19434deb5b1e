// Similarities and sizes to cuts. Integers only; one document at a time; time linear in the sentences for every input.
//
// A document has n sentences. similarity[i] is the quantised cosine (2^20 = 1) between sentences i and i + 1; the entry
// of the last sentence is not read. A cut "after i" ends a chunk with sentence i. The sentences i..j together have
// last[j] - first[i] tokens; first and last never fall.
//
// The bodies are plain functions that CUDA can call as well; scratch memory comes from the caller.
#pragma once
#include "core/lanes.h"

namespace rc {

using Wide = __int128;

constexpr int64_t kOne = int64_t{1} << 20;  // the cosine 1
constexpr int64_t kMillion = 1000000;       // parameters are counted in millionths

// ---- candidates
// --------------------------------------------------------------------------------------------------------

enum class Method : int { threshold = 0, percentile, std, interquartile, gradient, depth };

// floor(a / b), b > 0
RC_BODY int64_t floor_div(Wide a, Wide b) { return static_cast<int64_t>(a / b - (a % b < 0)); }

// floor(sqrt(x)), 0 <= x < 2^124
RC_BODY int64_t integer_sqrt(Wide x) {
  Wide root = 0;
  for (int bit = 61; bit >= 0; bit--) {
    const Wide next = root + (Wide{1} << bit);
    if (next * next <= x) root = next;
  }
  return static_cast<int64_t>(root);
}

// The k-th smallest of n values (k from 0) within +-2^23, by bisection on the value: no scratch, linear.
RC_BODY int64_t kth_smallest(const int32_t* values, int64_t n, int64_t k) {
  int32_t low = -(1 << 23), high = 1 << 23;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    int32_t below = 0;
    for (int64_t i = 0; i < n; i++) below += values[i] <= middle;
    if (below > k)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Each rule below gives a level: the largest integer that does not exceed the rule's exact bound. A value is above the
// bound if and only if it is greater than the level. `millionths` is the rule's parameter times 10^6.

// The percentile with linear interpolation (NumPy's default).
RC_BODY int64_t percentile_level(const int32_t* values, int64_t n, int64_t millionths, int64_t parts = 1) {
  const int64_t whole = 100 * kMillion;
  const int64_t position = (n - 1) * millionths, k = position / whole, rest = position % whole;
  const int64_t low = kth_smallest(values, n, k);
  const int64_t step = rest ? kth_smallest(values, n, k + 1) - low : 0;
  return low * parts + step * rest * parts / whole;  // step >= 0
}

// mean + parameter * standard deviation (of the population, rounded down to a multiple of 2^-10)
RC_BODY int64_t deviation_level(const int32_t* values, int64_t n, int64_t millionths) {
  int64_t sum = 0;
  Wide squares = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += values[i];
    squares += static_cast<int64_t>(values[i]) * values[i];
  }
  const Wide spread = n * squares - static_cast<Wide>(sum) * sum;  // n^2 times the variance
  const int64_t deviation = integer_sqrt(((spread / n) << 20) / n);
  const Wide bound = static_cast<Wide>(millionths) * deviation * n;
  return floor_div(sum * (Wide{kMillion} << 10) + bound, n * (Wide{kMillion} << 10));
}

// mean + parameter * (75th percentile - 25th percentile), whose positions are whole quarters
RC_BODY int64_t interquartile_level(const int32_t* values, int64_t n, int64_t millionths) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += values[i];
  const int64_t quarters =
      percentile_level(values, n, 75 * kMillion, 4) - percentile_level(values, n, 25 * kMillion, 4);
  const Wide bound = static_cast<Wide>(millionths) * quarters * n;
  return floor_div(static_cast<Wide>(sum) * 4 * kMillion + bound, static_cast<Wide>(n) * 4 * kMillion);
}

// The heights of the hills on both sides over each gap's similarity (TextTiling, Hearst 1997): from the gap outwards
// for as long as the similarity does not fall. scratch [gaps].
RC_BODY void depth_scores(const int32_t* similarity, int64_t gaps, int32_t* scratch, int32_t* depth) {
  for (int64_t i = 0; i < gaps; i++)
    scratch[i] = i > 0 && similarity[i - 1] >= similarity[i] ? scratch[i - 1] : similarity[i];
  int32_t peak = 0;
  for (int64_t i = gaps - 1; i >= 0; i--) {
    if (i + 1 == gaps || similarity[i + 1] < similarity[i]) peak = similarity[i];
    depth[i] = (scratch[i] - similarity[i]) + (peak - similarity[i]);
  }
}

// Twice numpy.gradient: central differences, one-sided at the ends. gaps >= 2.
RC_BODY void doubled_gradient(const int32_t* values, int64_t gaps, int32_t* gradient) {
  gradient[0] = 2 * (values[1] - values[0]);
  for (int64_t i = 1; i + 1 < gaps; i++) gradient[i] = values[i + 1] - values[i - 1];
  gradient[gaps - 1] = 2 * (values[gaps - 1] - values[gaps - 2]);
}

// candidate [n] becomes 1 after sentences that may end a chunk. measure and scratch [n].
RC_BODY void candidates_document(const int32_t* similarity, int64_t n, Method method, int64_t millionths,
                                 int32_t* measure, int32_t* scratch, uint8_t* candidate) {
  const int64_t gaps = n - 1;
  candidate[gaps] = 0;
  if (gaps < (method == Method::gradient ? 2 : 1)) {
    for (int64_t i = 0; i < gaps; i++) candidate[i] = 0;
    return;
  }
  int32_t* distance = method == Method::gradient ? scratch : measure;
  for (int64_t i = 0; i < gaps; i++) distance[i] = static_cast<int32_t>(kOne) - similarity[i];
  int64_t level = 0;
  if (method == Method::threshold) {
    level = floor_div((kMillion - millionths) * kOne, kMillion);
  } else if (method == Method::percentile) {
    level = percentile_level(measure, gaps, millionths);
  } else if (method == Method::std) {
    level = deviation_level(measure, gaps, millionths);
  } else if (method == Method::interquartile) {
    level = interquartile_level(measure, gaps, millionths);
  } else if (method == Method::gradient) {
    doubled_gradient(distance, gaps, measure);
    level = percentile_level(measure, gaps, millionths);
  } else {
    depth_scores(similarity, gaps, scratch, measure);
    level = deviation_level(measure, gaps, -millionths);
    level = level > 0 ? level : 0;
  }
  for (int64_t i = 0; i < gaps; i++) candidate[i] = measure[i] > level;
  if (method != Method::depth) return;
  for (int64_t i = 0; i < gaps; i++) {  // only the floor of a valley
    if (i > 0 && similarity[i - 1] < similarity[i]) candidate[i] = 0;
    if (i + 1 < gaps && similarity[i + 1] < similarity[i]) candidate[i] = 0;
  }
}

// ---- greedy cuts
// -------------------------------------------------------------------------------------------------------

// Chunk by chunk from the left. A chunk that begins with sentence a ends
//   1. at the first candidate where it has min_tokens and not more than max_tokens; else
//   2. with the document, if the rest fits max_tokens; else
//   3. at the weakest similarity where it has min_tokens and fits (the last of equal ones); else
//   4. with the last sentence that fits (with a itself, if a alone exceeds max_tokens).
// A chunk that comes out shorter than min_tokens is joined to the previous one if both fit max_tokens together; else
// the cut between the two moves to the weakest similarity (the last of equal ones) where both have min_tokens and fit;
// else it stays short. cut [n] comes zeroed; queue [n].
//
// Linear: the range of step 3 only moves to the right, so a monotone queue holds its minimum, and the cut between two
// chunks moves only if a short one follows.
RC_BODY void greedy_document(const int32_t* similarity, const uint8_t* candidate, const int64_t* first,
                             const int64_t* last, int64_t n, int64_t min_tokens, int64_t max_tokens, int64_t* queue,
                             uint8_t* cut) {
  int64_t previous = -1, a = 0;  // starts of the previous and of this chunk
  int64_t low = 0, high = 0;     // this chunk may end with [low, high)
  int64_t next = 0;              // first candidate from low on
  int64_t head = 0, tail = 0, pushed = 0;
  while (a < n) {
    if (high <= a) high = a + 1;
    while (high < n && last[high] - first[a] <= max_tokens) high++;
    if (low < a) low = a;
    while (low < n && last[low] - first[a] < min_tokens) low++;
    for (; pushed < high; pushed++) {
      while (tail > head && similarity[queue[tail - 1]] >= similarity[pushed]) tail--;
      queue[tail++] = pushed;
    }
    while (head < tail && queue[head] < low) head++;
    if (next < low) next = low;
    while (next < high && !candidate[next]) next++;

    const int64_t end = next < high ? next : high == n ? n - 1 : low < high ? queue[head] : high - 1;
    cut[end] = 1;
    const bool is_short = last[end] - first[a] < min_tokens;
    if (is_short && previous >= 0 && last[end] - first[previous] <= max_tokens) {
      cut[a - 1] = 0;
    } else if (is_short && previous >= 0) {
      int64_t best = -1;
      for (int64_t c = previous; c < end; c++) {
        const int64_t left = last[c] - first[previous], right = last[end] - first[c + 1];
        const bool fits =
            left >= min_tokens && (left <= max_tokens || c == previous) && right >= min_tokens && right <= max_tokens;
        if (fits && (best < 0 || similarity[c] <= similarity[best])) best = c;
      }
      if (best >= 0) {
        cut[a - 1] = 0;
        cut[best] = 1;
      }
      previous = best >= 0 ? best + 1 : a;
    } else {
      previous = a;
    }
    a = end + 1;
  }
}

// ---- optimal cuts
// ------------------------------------------------------------------------------------------------------

// What a segmentation costs: first the tokens that chunks lack to min_tokens, then the sum over cuts of similarity +
// penalty. The end of the document is no cut.
struct Cost {
  int64_t missing, sum;
};

RC_BODY bool cheaper(Cost a, Cost b) { return a.missing != b.missing ? a.missing < b.missing : a.sum < b.sum; }

// The cheapest segmentation whose chunks fit max_tokens, except single sentences that exceed it alone. Of equal ones,
// each last chunk (from the end of the document backwards) has the earliest start. cut [n] comes zeroed. cost, from,
// full and tight [n + 1].
//
// A chunk [i, j) of at least min_tokens costs what [0, i) costs, and a shorter one that plus min_tokens + first[i] -
// last[j - 1]: so two sliding windows of starts i, each with its minimum in a monotone queue, make the programme
// linear.
RC_BODY void optimal_document(const int32_t* similarity, const int64_t* first, const int64_t* last, int64_t n,
                              int64_t min_tokens, int64_t max_tokens, int64_t penalty, Cost* cost, int64_t* from,
                              int64_t* full, int64_t* tight, uint8_t* cut) {
  int64_t full_head = 0, full_tail = 0, tight_head = 0, tight_tail = 0;
  int64_t low = 0, middle = 0;  // starts in [low, middle) make full chunks, in [middle, j) short ones
  cost[0] = {0, 0};
  for (int64_t j = 1; j <= n; j++) {
    const int64_t start = j - 1;
    const Cost entry = {cost[start].missing + first[start], cost[start].sum};
    while (tight_tail > tight_head) {
      const int64_t i = tight[tight_tail - 1];
      if (!cheaper(entry, {cost[i].missing + first[i], cost[i].sum})) break;
      tight_tail--;
    }
    tight[tight_tail++] = start;
    for (; middle < j && last[j - 1] - first[middle] >= min_tokens; middle++) {
      while (full_tail > full_head && cheaper(cost[middle], cost[full[full_tail - 1]])) full_tail--;
      full[full_tail++] = middle;
    }
    while (low < j - 1 && last[j - 1] - first[low] > max_tokens) low++;
    while (full_head < full_tail && full[full_head] < low) full_head++;
    while (tight_head < tight_tail && tight[tight_head] < middle) tight_head++;

    Cost best = {0, 0};
    int64_t arg = -1;
    if (full_head < full_tail) {
      arg = full[full_head];
      best = cost[arg];
    }
    if (tight_head < tight_tail) {
      const int64_t i = tight[tight_head];
      const Cost c = {cost[i].missing + min_tokens - (last[j - 1] - first[i]), cost[i].sum};
      if (arg < 0 || cheaper(c, best)) {
        arg = i;
        best = c;
      }
    }
    if (j < n) best.sum += similarity[j - 1] + penalty;
    cost[j] = best;
    from[j] = arg;
  }
  for (int64_t j = n; j > 0; j = from[j]) cut[j - 1] = 1;
}

#if !defined(__CUDACC__)

// The sentences of many documents, one after the other; document d has [offsets[d], offsets[d + 1]).
struct SentenceSizes {
  const int64_t *offsets, *first, *last;
  int64_t documents;
};

// Throws unless first <= last and both never fall within a document.
void check_sizes(const SentenceSizes& s);
void check_limits(int64_t min_tokens, int64_t max_tokens);

void boundary_candidates(const int32_t* similarity, const int64_t* offsets, int64_t documents, Method method,
                         double value, uint8_t* candidate, int threads);
void greedy_cuts(const int32_t* similarity, const uint8_t* candidate, const SentenceSizes& s, int64_t min_tokens,
                 int64_t max_tokens, uint8_t* cut, int threads);
void optimal_cuts(const int32_t* similarity, const SentenceSizes& s, int64_t min_tokens, int64_t max_tokens,
                  int64_t penalty, uint8_t* cut, int threads);

#endif
}  // namespace rc
