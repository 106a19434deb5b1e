#include "chunks/pack.h"

#include <algorithm>

#include "core/graphemes.h"
#include "core/parallel.h"
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
      : text_(text),
        literal_(literal.data()),
        size_(static_cast<int64_t>(literal.size())),
        length_(size_),
        last_(RC_PICK(find_last)),
        first_(RC_PICK(find_first)) {}
  // The level as one separator, if it can be one.
  static bool is_set(const std::vector<std::string>& literals) {
    if (literals.size() < 2 || literals.size() > MOST) return false;
    return std::all_of(literals.begin(), literals.end(), [](const std::string& s) { return s.size() == 1; });
  }
  Separator(const char* text, const std::vector<std::string>& set)
      : text_(text),
        size_(static_cast<int64_t>(set.size())),
        length_(1),
        last_(RC_PICK(find_last_of)),
        first_(RC_PICK(find_first_of)) {
    for (size_t i = 0; i < set.size(); i++) set_[i] = set[i][0];
  }

  int64_t length() const { return length_; }

  // The last place in [low, high] where it starts, or -1; the first.
  int64_t last(int64_t low, int64_t high) {
    if (high >= none_from_ && high <= none_to_) high = none_from_ - 1;
    const int64_t from = low >= none_from_ && low <= none_to_ ? none_to_ + 1 : low;
    if (from > high) return -1;
    const int64_t match = last_(text_, from, high, bytes(), size_);
    remember(match < 0 ? from : match + 1, high);
    return match;
  }
  int64_t first(int64_t low, int64_t high) {
    if (low >= none_from_ && low <= none_to_) low = none_to_ + 1;
    const int64_t to = high >= none_from_ && high <= none_to_ ? none_from_ - 1 : high;
    if (low > to) return -1;
    const int64_t match = first_(text_, low, to, bytes(), size_);
    remember(low, match < 0 ? to : match - 1);
    return match;
  }

 private:
  static constexpr size_t MOST = 4;  // bytes that find_last_of takes

  const char* bytes() const { return literal_ ? literal_ : set_; }

  void remember(int64_t from, int64_t to) {
    if (from > to) return;
    const bool joins = from <= none_to_ + 1 && to >= none_from_ - 1;
    none_from_ = joins ? std::min(from, none_from_) : from;
    none_to_ = joins ? std::max(to, none_to_) : to;
  }

  const char* text_;
  const char* literal_ = nullptr;  // or, where there is none, set_
  char set_[MOST] = {};
  int64_t size_, length_;
  int64_t none_from_ = 0, none_to_ = -1;  // it starts nowhere in [none_from_, none_to_]
  decltype(RC_PICK(find_last)) last_;
  decltype(RC_PICK(find_first)) first_;
};

// Where a document is packed from: what the chunks that follow depend on.
struct State {
  int64_t start;         // of the next chunk
  int64_t resume;        // where it would start without overlap
  int64_t previous_end;  // of the chunk before
  bool overlaps() const { return start < resume; }
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
        options_(options) {
    size_t literals = 0;
    for (const Level& level : levels)
      if (level.kind == Level::Kind::literals) literals += level.literals->size();
    separators_.reserve(literals);
    own_.reserve(levels.size());
    for (const Level& level : levels) {
      const size_t first = separators_.size();
      if (level.kind == Level::Kind::literals) {
        if (Separator::is_set(*level.literals)) {
          separators_.emplace_back(text_, *level.literals);
        } else {
          for (const std::string& literal : *level.literals) separators_.emplace_back(text_, literal);
        }
      }
      own_.push_back({first, separators_.size(), level.is_words()});
    }
    if (options.min_tokens > 1) tail_ = measure.back(end_, options.min_tokens);
  }

  // The state in which a document, or a part of it that nothing goes before, begins.
  State begin_at(int64_t at) {
    anchor_ = at;
    const int64_t start = start_at(at);
    return {start, start, at};
  }

  // Appends chunks until one would start at or behind `until`. `states`, if given, gets the state before each chunk.
  void run(State& s, int64_t until, std::vector<PackedChunk>& out, std::vector<State>* states = nullptr) {
    until = std::min(until, end_);
    while (s.start < until) step(s, out, states);
  }

  // Appends the next chunk, or finds a better state for it.
  void step(State& s, std::vector<PackedChunk>& out, std::vector<State>* states) {
    anchor_ = s.start;
    Cut cut;
    int64_t stop, tokens;
    if (!fit(s.start, s.previous_end, s.overlaps(), cut, stop, tokens)) {
      s.start = s.resume;
      return;
    }
    if (stop <= s.start) {  // white space that a mark had made part of a cluster, which is too large to stay whole
      s.start = s.resume = cut.next;
      return;
    }
    if (states) states->push_back(s);
    out.push_back({s.start, stop, tokens});
    // About where a chunk not far behind will end, so that its text has come from memory by then.
    const char* ahead = text_ + std::min(end_, stop + 4 * (stop - s.start));
    for (int line = 0; line < 3; line++) __builtin_prefetch(ahead - 64 * line);
    if (cut.level == FINAL) {
      s.start = s.resume = end_;
      return;
    }
    const int64_t chunk_start = s.start;
    s.start = s.resume = start_at(cut.next);
    s.previous_end = stop;
    if (options_.overlap > 0 && s.resume < end_)
      s.start = std::min(s.start, overlap_start(chunk_start, cut, stop, s.resume));
  }

  int64_t end() const { return end_; }

  // Whether the same chunks follow. Without overlap the end of the chunk before counts only where white space that
  // follows it carries a mark.
  bool same(const State& a, const State& b) const {
    if (a.start != b.start || a.resume != b.resume) return false;
    if (a.previous_end == b.previous_end) return true;
    return !a.overlaps() && skip_space(text_, a.previous_end, end_) <= a.start &&
           skip_space(text_, b.previous_end, end_) <= b.start;
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
    const int64_t reach = measure_.reach_to(start, budget, end_);
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

  bool allowed(const Cut& cut) const { return boundary(cut.end) && (cut.next == cut.end || boundary(cut.next)); }

  Cut cut_at(const Span& separator) const {
    switch (options_.keep) {
      case Keep::end: return {separator.end, separator.end};
      case Keep::start: return {separator.start, separator.start};
      default: return {separator.start, separator.end};
    }
  }

  // The cut at a span that was found beforehand.
  Cut cut_of(const Level& level, const Span& span) const {
    return level.kind == Level::Kind::starts ? Cut{span.start, span.start} : cut_at(span);
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
      case Level::Kind::positions:
      case Level::Kind::starts: {
        const bool by_end = options_.keep == Keep::end && level.kind == Level::Kind::positions;
        const Span* after = std::upper_bound(level.first, level.last, high, [&](int64_t value, const Span& s) {
          return value < (by_end ? s.end : s.start);
        });
        while (after != level.first) {
          const Cut cut = cut_of(level, *--after);
          if (cut.end <= low) break;
          if (!allowed(cut)) continue;
          best = cut;
          break;
        }
        break;
      }
      case Level::Kind::literals:
        for (size_t k = own_[number].first; k < own_[number].last; k++) {
          Separator& separator = separators_[k];
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
      case Level::Kind::positions:
      case Level::Kind::starts: {
        const bool by_end = options_.keep == Keep::end && level.kind == Level::Kind::positions;
        const Span* at = std::upper_bound(level.first, level.last, low, [&](int64_t value, const Span& s) {
          return value < (by_end ? s.end : s.start);
        });
        for (; at != level.last; ++at) {
          const Cut cut = cut_of(level, *at);
          if (cut.end > high) break;
          if (!allowed(cut)) continue;
          best = cut;
          break;
        }
        break;
      }
      case Level::Kind::literals:
        for (size_t k = own_[number].first; k < own_[number].last; k++) {
          Separator& separator = separators_[k];
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
      if (!own_[i].is_words) best = std::min(best, first_start(i, low, best - 1));
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
      if (i > level && (next.level != FINAL || own_[i].is_words)) break;
      const Cut first = first_in(i, resume, unit);
      if (first.found()) unit = first.end;
    }
    return trim_space(text_, resume, unit);
  }

  // The end of the cluster at `resume` or, if it is larger than the maximum, where it is cut.
  int64_t first_cluster_end(int64_t resume) const {
    const int64_t limit = measure_.reach_to(resume, options_.max_tokens, end_);
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
  struct Own {
    size_t first, last;  // a level's separators
    bool is_words;
  };
  std::vector<Own> own_;  // by level
  mutable std::vector<Separator> separators_;
};

// Calls work(measure as its own class, so that its short functions need no call).
template <class Work>
auto with_class(const Measure& measure, Work work) {
  if (const auto* bytes = dynamic_cast<const ByteMeasure*>(&measure)) return work(*bytes);
  if (const auto* characters = dynamic_cast<const CharMeasure*>(&measure)) return work(*characters);
  return work(measure);
}

// A part of a large document, packed as if a chunk started where it begins.
struct Guess {
  int64_t begin;
  State after = {};  // the state behind its last chunk
  std::vector<PackedChunk> chunks = {};
  std::vector<State> states = {};
};

// A word start at or behind `at`, or `size`.
int64_t guessed_start(const char* text, int64_t at, int64_t size) {
  while (at < size && !(is_ascii_space(text[at - 1]) && is_visible_ascii(text[at]))) at++;
  return at;
}

}  // namespace

void pack(std::string_view text, int64_t begin, int64_t end, const Measure& measure, const std::vector<Level>& levels,
          const PackOptions& options, std::vector<PackedChunk>& out) {
  with_class(measure, [&](const auto& own) {
    Packer packer(text, begin, end, own, levels, options);
    State state = packer.begin_at(begin);
    packer.run(state, end, out);
  });
}

void pack_large(std::string_view text, const MeasureMaker& measure, const std::vector<Level>& levels,
                const PackOptions& options, int threads, std::vector<PackedChunk>& out, int64_t least_part) {
  const auto size = static_cast<int64_t>(text.size());
  const int64_t part_bytes = std::max(least_part, size / threads + 1);
  std::vector<Guess> guesses{{0}};
  // Windows that are cut anywhere, or between words, seldom meet.
  if (std::any_of(levels.begin(), levels.end(), [](const Level& level) { return !level.is_words(); }))
    for (int64_t at = part_bytes; at < size; at = std::max(at, guesses.back().begin) + part_bytes)
      guesses.push_back({guessed_start(text.data(), at, size)});
  if (guesses.size() == 1) return pack(text, 0, size, *measure(), levels, options, out);
  parallel_for(static_cast<int64_t>(guesses.size()), threads, 1, [&](int64_t g) {
    Guess& guess = guesses[g];
    const int64_t until = g + 1 < static_cast<int64_t>(guesses.size()) ? guesses[g + 1].begin : size;
    const auto own_measure = measure();
    with_class(*own_measure, [&](const auto& own) {
      Packer packer(text, 0, size, own, levels, options);
      guess.after = packer.begin_at(guess.begin);
      packer.run(guess.after, until, guess.chunks, g ? &guess.states : nullptr);
    });
  });
  // Follows the true chunks; where they come to a state of a guess, those that follow are known.
  const auto own_measure = measure();
  with_class(*own_measure, [&](const auto& own) {
    Packer packer(text, 0, size, own, levels, options);
    State state = guesses[0].after;
    out.insert(out.end(), guesses[0].chunks.begin(), guesses[0].chunks.end());
    for (size_t g = 1; g < guesses.size(); g++) {
      Guess& guess = guesses[g];
      size_t k = 0;
      while (k < guess.states.size() && state.start < packer.end()) {
        if (guess.states[k].start < state.start) {
          k++;
        } else if (packer.same(guess.states[k], state)) {
          out.insert(out.end(), guess.chunks.begin() + static_cast<int64_t>(k), guess.chunks.end());
          state = guess.after;
          break;
        } else {
          packer.step(state, out, nullptr);
        }
      }
      guess = {};
    }
    packer.run(state, size, out);
  });
}

}  // namespace rc
