#include "chunks/pack.h"

#include <algorithm>

#include "core/graphemes.h"
#include "core/utf8.h"
#include "structure/separators.h"

namespace rc {
namespace {

constexpr int FINAL = -1;         // the rest of the document fits
constexpr int BETWEEN = 1 << 20;  // no boundary at any level: between two characters

// A place to cut: the chunk ends at `end` (before trimming) and the next one starts at `next` (before skipping white
// space).
struct Cut {
  int64_t end = -1, next = -1;
  int level = FINAL;
  bool found() const { return end >= 0; }
};

// A literal separator in one document, or a level of separators of one byte each. It remembers where it has been looked
// for in vain: chunk after chunk, the levels are searched in much the same places.
class Separator {
 public:
  Separator(const char* text, const std::string& literal)
      : text_(text), bytes_(literal), length_(static_cast<int64_t>(literal.size())) {
    last_ = RC_PICK(find_last);
    first_ = RC_PICK(find_first);
  }
  // The level as one separator, if it can be one.
  static bool is_set(const std::vector<std::string>& literals) {
    if (literals.size() < 2 || literals.size() > 4) return false;
    return std::all_of(literals.begin(), literals.end(), [](const std::string& s) { return s.size() == 1; });
  }
  Separator(const char* text, const std::vector<std::string>& set) : text_(text), length_(1) {
    for (const std::string& literal : set) bytes_ += literal;
    last_ = RC_PICK(find_last_of);
    first_ = RC_PICK(find_first_of);
  }

  int64_t length() const { return length_; }

  // The last place in [low, high] where it starts, or -1; the first.
  int64_t last(int64_t low, int64_t high) {
    if (high >= none_from_ && high <= none_to_) high = none_from_ - 1;
    const int64_t from = low >= none_from_ && low <= none_to_ ? none_to_ + 1 : low;
    if (from > high) return -1;
    const int64_t match = last_(text_, from, high, bytes_.data(), static_cast<int64_t>(bytes_.size()));
    remember(match < 0 ? from : match + 1, high);
    return match;
  }
  int64_t first(int64_t low, int64_t high) {
    if (low >= none_from_ && low <= none_to_) low = none_to_ + 1;
    const int64_t to = high >= none_from_ && high <= none_to_ ? none_from_ - 1 : high;
    if (low > to) return -1;
    const int64_t match = first_(text_, low, to, bytes_.data(), static_cast<int64_t>(bytes_.size()));
    remember(low, match < 0 ? to : match - 1);
    return match;
  }

 private:
  void remember(int64_t from, int64_t to) {
    if (from > to) return;
    const bool joins = from <= none_to_ + 1 && to >= none_from_ - 1;
    none_from_ = joins ? std::min(from, none_from_) : from;
    none_to_ = joins ? std::max(to, none_to_) : to;
  }

  const char* text_;
  std::string bytes_;
  int64_t length_;
  int64_t none_from_ = 0, none_to_ = -1;  // it starts nowhere in [none_from_, none_to_]
  decltype(RC_PICK(find_last)) last_;
  decltype(RC_PICK(find_first)) first_;
};

// M is the measure's own class, so that its short functions need no call.
template <class M>
class Packer {
 public:
  Packer(std::string_view text, int64_t begin, int64_t end, const M& measure, const std::vector<Level>& levels,
         const PackOptions& options)
      : text_(text.data()),
        size_(static_cast<int64_t>(text.size())),
        begin_(begin),
        end_(trim_space(text.data(), begin, end)),
        measure_(measure),
        levels_(levels),
        options_(options),
        separators_(levels.size()) {
    for (size_t i = 0; i < levels.size(); i++) {
      is_words_.push_back(levels[i].is_words());
      if (levels[i].kind != Level::Kind::literals) continue;
      if (Separator::is_set(*levels[i].literals)) {
        separators_[i].emplace_back(text_, *levels[i].literals);
      } else {
        separators_[i].reserve(levels[i].literals->size());
        for (const std::string& literal : *levels[i].literals) separators_[i].emplace_back(text_, literal);
      }
    }
    if (options.min_tokens > 1) tail_ = measure.back(end_, options.min_tokens);
  }

  void run(std::vector<PackedChunk>& out) {
    anchor_ = begin_;
    int64_t start = start_at(begin_), previous_end = begin_;
    bool overlaps = false;
    int64_t resume = start;  // where the chunk starts without overlap
    while (start < end_) {
      anchor_ = start;
      Cut cut;
      int64_t stop, tokens;
      if (!fit(start, previous_end, overlaps, cut, stop, tokens)) {
        start = resume;
        overlaps = false;
        continue;
      }
      if (stop <= start) {  // white space that a mark had made part of a cluster, which is too large to stay whole
        start = resume = cut.next;
        overlaps = false;
        continue;
      }
      out.push_back({start, stop, tokens});
      // The end after the next, so that it has come from memory by then.
      __builtin_prefetch(text_ + std::min(end_, stop + 2 * (stop - start)));
      if (cut.level == FINAL) break;
      resume = start_at(cut.next);
      previous_end = stop;
      start = resume;
      overlaps = false;
      if (options_.overlap > 0 && resume < end_) {
        const int64_t earlier = overlap_start(out.back().start, cut, stop, resume);
        if (earlier < resume) {
          start = earlier;
          overlaps = true;
        }
      }
    }
  }

 private:
  // The cut of the chunk that starts at `start`, its trimmed end and its exact size. False if, with overlap, no chunk
  // within the maximum gets past the previous one.
  bool fit(int64_t start, int64_t previous_end, bool overlaps, Cut& cut, int64_t& stop, int64_t& tokens) const {
    int64_t budget = options_.max_tokens;
    for (;;) {
      cut = best_cut(start, previous_end, budget);
      const bool forced = !cut.found();
      if (forced) {
        if (overlaps) return false;
        const int64_t one = start + decode(text_, size_, start).bytes;
        cut = {one, one, BETWEEN};
      }
      stop = trim_space(text_, start, cut.end);
      tokens = measure_.count(start, stop);
      if (tokens <= options_.max_tokens || forced) return true;
      // The piece has more tokens alone than in the document: ask for as many fewer, or, where the measure is only an
      // estimate and far off, for the share that would fit.
      const int64_t measured = std::min(budget, measure_.size(start, stop)), excess = tokens - options_.max_tokens;
      budget = std::min(measured - 1, std::max(measured - excess, measured * options_.max_tokens / tokens));
    }
  }

  Cut best_cut(int64_t start, int64_t previous_end, int64_t budget) const {
    const int64_t least = measure_.reach(start, std::max<int64_t>(options_.min_tokens, 1) - 1);
    const int64_t reach = std::min(end_, measure_.reach(start, budget));
    if (reach >= end_) return {end_, end_, FINAL};
    // White space is trimmed, so a cut behind the white space that follows is as good.
    int64_t high = skip_space(text_, reach, end_);
    int64_t low = std::max(previous_end, std::max(start, least));
    if (tail_ > low) high = std::min(high, tail_);
    for (int i = 0; i < static_cast<int>(levels_.size()); i++) {
      Cut cut = last_in(i, start, low, high);
      if (!cut.found()) continue;
      cut.level = i;
      return cut;
    }
    // A chunk that gets past the previous one by white space alone would be trimmed to what that one has.
    low = std::max(skip_space(text_, previous_end, end_), start);
    const Cut cut = between_clusters(start, low, std::min(high, reach));
    if (cut.found()) return cut;
    const Cut further = between_clusters(start, low, reach);
    return further.found() ? further : between_code_points(low, reach);
  }

  // The furthest place in (low, high] that splits no character as seen by a reader.
  Cut between_clusters(int64_t start, int64_t low, int64_t high) const {
    int64_t at = high;
    while (at > low && !is_cluster_boundary(text_, size_, at, start)) at--;
    return at > low ? Cut{at, at, BETWEEN} : Cut{};
  }

  // The same for a cluster that is larger than the maximum: it is cut between code points.
  Cut between_code_points(int64_t low, int64_t high) const {
    int64_t at = high;
    while (at > low && is_continuation(text_[at])) at--;
    return at > low ? Cut{at, at, BETWEEN} : Cut{};
  }

  // Every place that is asked about lies behind the start of the current chunk, so no look-back goes further.
  bool boundary(int64_t at) const { return is_cluster_boundary(text_, size_, at, anchor_); }

  bool allowed(const Cut& cut) const { return boundary(cut.end) && boundary(cut.next); }

  Cut cut_at(const Span& separator) const {
    switch (options_.keep) {
      case Keep::end: return {separator.end, separator.end};
      case Keep::start: return {separator.start, separator.start};
      default: return {separator.start, separator.end};
    }
  }

  // The last boundary of the level whose trimmed end is in (low, high].
  Cut last_in(int number, int64_t start, int64_t low, int64_t high) const {
    const Level& level = levels_[number];
    Cut best;
    switch (level.kind) {
      case Level::Kind::words: {
        for (int64_t at = high; at > low;) {
          at = measure_.last_word(low + 1, at);
          if (at < 0) break;
          if (boundary(at)) {
            best = {at, at};
            break;
          }
          at--;
        }
        break;
      }
      case Level::Kind::positions: {
        const bool by_end = options_.keep == Keep::end;
        const Span* after = std::upper_bound(level.first, level.last, high, [&](int64_t value, const Span& s) {
          return value < (by_end ? s.end : s.start);
        });
        while (after != level.first) {
          const Cut cut = cut_at(*--after);
          if (cut.end <= low) break;
          if (!allowed(cut)) continue;
          best = cut;
          break;
        }
        break;
      }
      case Level::Kind::literals:
        for (Separator& separator : separators_[number]) {
          const int64_t length = separator.length();
          const int64_t kept = options_.keep == Keep::end ? length : 0;  // the cut's end is match + kept
          int64_t last = std::min(high - kept, size_ - length);
          const int64_t first = std::max(best.end, low + 1) - kept;
          while (last >= first) {
            const int64_t match = separator.last(std::max(first, start), last);
            if (match < 0) break;
            const Cut cut = cut_at({match, match + length});
            if (allowed(cut)) {
              if (cut.end > best.end) best = cut;
              break;
            }
            last = match - 1;
          }
        }
        break;
    }
    if (best.found() && trim_space(text_, start, best.end) <= low) return {};
    return best;
  }

  // The first boundary of the level with end in (low, high]; `end` is where a unit that starts at low ends.
  Cut first_in(int number, int64_t low, int64_t high) const {
    const Level& level = levels_[number];
    Cut best;
    switch (level.kind) {
      case Level::Kind::words: {
        const int64_t at = low < high ? measure_.first_word(low + 1, high) : -1;
        if (at >= 0 && boundary(at)) best = {at, at};
        break;
      }
      case Level::Kind::positions: {
        const bool by_end = options_.keep == Keep::end;
        const Span* at = std::upper_bound(level.first, level.last, low, [&](int64_t value, const Span& s) {
          return value < (by_end ? s.end : s.start);
        });
        for (; at != level.last; ++at) {
          const Cut cut = cut_at(*at);
          if (cut.end > high) break;
          if (!allowed(cut)) continue;
          best = cut;
          break;
        }
        break;
      }
      case Level::Kind::literals:
        for (Separator& separator : separators_[number]) {
          const int64_t length = separator.length();
          const int64_t kept = options_.keep == Keep::end ? length : 0;
          int64_t first = std::max(low + 1 - kept, begin_);
          const int64_t last = std::min((best.found() ? best.end - 1 : high) - kept, size_ - length);
          while (first <= last) {
            const int64_t match = separator.first(first, last);
            if (match < 0) break;
            const Cut cut = cut_at({match, match + length});
            if (allowed(cut)) {
              best = cut;
              break;
            }
            first = match + 1;
          }
        }
        break;
    }
    return best;
  }

  // Where the next chunk starts so that it repeats whole units, at most `overlap` tokens of them, and still holds the
  // unit that follows the cut: overlap never pushes a unit that fits to a worse boundary. `resume` if there is no such
  // place.
  int64_t overlap_start(int64_t chunk_start, const Cut& cut, int64_t chunk_end, int64_t resume) const {
    const int64_t unit_end = first_unit_end(cut, resume);
    const int64_t low = measure_.back_to(std::max(measure_.back(chunk_end, options_.overlap), chunk_start + 1),
                                         unit_end, options_.max_tokens);
    if (low >= chunk_end) return resume;
    int64_t best = chunk_end;
    for (int i = 0; i < static_cast<int>(levels_.size()); i++)
      if (!is_words_[i]) best = std::min(best, first_start(i, low, best - 1));
    if (best < chunk_end) return best;
    if (!levels_.empty()) {
      const int64_t word = measure_.first_word(low, chunk_end - 1);
      if (word >= 0 && boundary(word)) return word;
    }
    // Inside a long run without a boundary, or where there are no levels, characters are the units.
    if (levels_.empty() || cut.level == BETWEEN) return next_boundary(low, chunk_end, resume);
    return resume;
  }

  int64_t next_boundary(int64_t at, int64_t limit, int64_t otherwise) const {
    while (at < limit && !boundary(at)) at++;
    at = at < limit ? start_at(at) : limit;
    return at < limit ? at : otherwise;
  }

  // The first place in [low, high] where a unit of the level starts, or the end of the document.
  int64_t first_start(int level, int64_t low, int64_t high) const {
    // A boundary before the white space in front of low leads to low as well.
    int64_t from = trim_space(text_, begin_, low) - 1;
    if (options_.keep == Keep::drop) from -= longest(levels_[level]);
    for (Cut cut = first_in(level, std::max(from, begin_), high); cut.found(); cut = first_in(level, cut.end, high)) {
      const int64_t start = start_at(cut.next);
      if (start >= low) return start <= high ? start : end_;
    }
    return end_;
  }

  int64_t longest(const Level& level) const {
    int64_t n = 1;
    if (level.kind == Level::Kind::literals)
      for (const std::string& literal : *level.literals) n = std::max(n, static_cast<int64_t>(literal.size()));
    return n;
  }

  // The end of the first unit after the cut: up to a boundary of the level at which the next chunk would be cut without
  // overlap or, if the rest fits, of the level of this cut.
  int64_t first_unit_end(const Cut& cut, int64_t resume) const {
    if (levels_.empty()) return first_cluster_end(resume);
    const Cut next = best_cut(resume, cut.end, options_.max_tokens);
    const int64_t limit = next.found() ? next.end : resume + 1;
    const int level = next.level == FINAL ? cut.level : next.level;
    if (level == BETWEEN) {
      int64_t at = resume + 1;
      while (at < limit && !is_cluster_boundary(text_, size_, at, resume)) at++;
      return at;
    }
    int64_t unit = limit;
    for (int i = 0; i < static_cast<int>(levels_.size()); i++) {
      if (i > level && (next.level != FINAL || is_words_[i])) break;
      const Cut first = first_in(i, resume, unit);
      if (first.found()) unit = first.end;
    }
    return trim_space(text_, resume, unit);
  }

  // The end of the cluster at `resume` or, if it is larger than the maximum, where it is cut.
  int64_t first_cluster_end(int64_t resume) const {
    const int64_t limit = std::min(end_, measure_.reach(resume, options_.max_tokens));
    int64_t at = resume + 1;
    while (at < limit && !is_cluster_boundary(text_, size_, at, resume)) at++;
    if (at < limit || limit == end_) return at;
    const Cut cut = between_code_points(resume, limit);
    return cut.found() ? cut.end : resume + 1;
  }

  // The first character of a chunk that may start at `at`: white space is skipped, unless a mark holds on to it.
  int64_t start_at(int64_t at) const {
    const int64_t p = skip_space(text_, at, end_);
    return p > at && p < end_ && !boundary(p) ? previous(text_, p) : p;
  }

  const char* text_;
  int64_t size_, begin_, end_, tail_ = -1;
  int64_t anchor_ = 0;  // the start of the current chunk
  const M& measure_;
  const std::vector<Level>& levels_;
  const PackOptions& options_;
  mutable std::vector<std::vector<Separator>> separators_;  // by level
  std::vector<uint8_t> is_words_;                           // by level
};

}  // namespace

void pack(std::string_view text, int64_t begin, int64_t end, const Measure& measure, const std::vector<Level>& levels,
          const PackOptions& options, std::vector<PackedChunk>& out) {
  if (const auto* bytes = dynamic_cast<const ByteMeasure*>(&measure))
    Packer<ByteMeasure>(text, begin, end, *bytes, levels, options).run(out);
  else if (const auto* characters = dynamic_cast<const CharMeasure*>(&measure))
    Packer<CharMeasure>(text, begin, end, *characters, levels, options).run(out);
  else
    Packer<Measure>(text, begin, end, measure, levels, options).run(out);
}

}  // namespace rc
