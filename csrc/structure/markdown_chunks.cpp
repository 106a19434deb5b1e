#include "structure/markdown_chunks.h"

#include <algorithm>

#include "chunks/pack.h"
#include "core/graphemes.h"
#include "core/utf8.h"
#include "sentences/sentences.h"

namespace rc {
namespace {

class Assembler {
 public:
  Assembler(std::string_view text, const BlockColumns& blocks, const Measure& measure,
            const MarkdownChunkOptions& options, std::vector<MarkdownChunk>& out)
      : text_(text), b_(blocks), measure_(measure), options_(options), out_(out) {}

  void run() {
    const size_t first = out_.size();
    reserve();
    const int32_t sections = static_cast<int32_t>(b_.section_start.size());
    int64_t pending = -1;  // where sections without text begin that wait for the next one
    for (int32_t s = 0, row = 0; s < sections; ++s) {
      section_ = s;
      budget_ = options_.max_tokens - reserved_[s];
      const int32_t begin_row = row;
      while (row < rows() && b_.section[row] == s) ++row;
      const int64_t end = s + 1 < sections ? b_.section_start[s + 1] : size();
      const int32_t body_row = begin_row + (s > 0);
      // A byte order mark alone goes with the first heading.
      const bool mark = s == 0 && sections > 1 && text_.compare(0, 3, "\xef\xbb\xbf") == 0;
      const bool has_text = body_row < row || (s == 0 && skip_space(text_.data(), mark ? 3 : 0, end) < end);
      const bool has_child = s + 1 < sections && b_.section_parent[s + 1] == s;
      if (!has_text) {
        if (s == 0) {
          if (mark) pending = 0;
          continue;
        }
        if (options_.keep_headings) {
          if (pending < 0) pending = b_.section_start[s];
          if (s + 1 < sections) continue;
          section(pending, end, begin_row, row);
        } else if (!has_child) {
          section(b_.section_start[s], end, begin_row, row);
        }
        continue;
      }
      int64_t begin = s ? b_.section_start[s] : 0;
      if (pending >= 0) begin = pending;
      if (s && !options_.keep_headings) begin = b_.end[begin_row];
      section(begin, end, options_.keep_headings ? begin_row : body_row, row);
      pending = -1;
    }
    if (options_.min_tokens > 1) merge(first);
  }

 private:
  int64_t size() const { return static_cast<int64_t>(text_.size()); }
  int32_t rows() const { return static_cast<int32_t>(b_.kind.size()); }
  BlockKind kind(int32_t row) const { return static_cast<BlockKind>(b_.kind[row]); }
  int64_t count(int64_t start, int64_t end) const { return measure_.count(start, end); }
  // Exact, but without counting where it is plainly too much.
  bool fits(int64_t start, int64_t end, int64_t budget, int64_t& tokens) const {
    if (end - start > budget && measure_.size(start, end) > budget + budget / 8 + 2) return false;
    tokens = count(start, end);
    return tokens <= budget;
  }
  bool fits(int64_t start, int64_t end, int64_t budget) const {
    int64_t tokens;
    return fits(start, end, budget, tokens);
  }

  // Room that the heading path of each section takes, at most half of the maximum.
  void reserve() {
    reserved_.assign(b_.section_start.size(), 0);
    if (!options_.reserve_headings) return;
    for (size_t s = 1; s < reserved_.size(); ++s) {
      const int32_t row = b_.section_block[s];
      const int64_t title = count(b_.text_start[row], b_.text_end[row]);
      reserved_[s] = reserved_[b_.section_parent[s]] + (title ? title + options_.joint : 0);
    }
    for (int64_t& r : reserved_) r = std::min(r, options_.max_tokens / 2);
  }

  void add(int64_t start, int64_t end, int64_t tokens) { out_.push_back({start, end, tokens, section_}); }

  // The first character at or after `at` that a chunk may start with; the indentation of code stays.
  int64_t start_at(int64_t at, int64_t end, bool whole_line) const {
    int64_t p = skip_space(text_.data(), at, end);
    if (p < end && whole_line) {
      while (p > at && (text_[p - 1] == ' ' || text_[p - 1] == '\t')) --p;
      return p;
    }
    if (p > at && p < end && !is_cluster_boundary(text_.data(), size(), p, 0)) return previous(text_.data(), p);
    return p;
  }

  void section(int64_t begin, int64_t end, int32_t row, int32_t last_row) {
    const bool code_first = row < last_row && kind(row) == BlockKind::indented_code;
    const int64_t start = start_at(begin, end, code_first), stop = trim_space(text_.data(), start, end);
    if (start >= stop) return;
    int64_t tokens;
    if (fits(start, stop, budget_, tokens)) return add(start, stop, tokens);
    // Tables and fenced code that are too long by themselves are cut at rows and lines; what is between them is packed.
    int64_t at = start;
    int32_t at_row = row;
    bool only_headings = true;  // from `at`
    for (int32_t i = row; i < last_row; ++i) {
      if (kind(i) != BlockKind::table && kind(i) != BlockKind::fenced_code) {
        only_headings = only_headings && kind(i) == BlockKind::heading;
        continue;
      }
      const int64_t block_end = trim_space(text_.data(), b_.start[i], b_.end[i]);
      if (fits(b_.start[i], block_end, budget_)) {
        only_headings = false;
        continue;
      }
      if (!only_headings) {
        run_of_blocks(at, b_.start[i], at_row, i);
        at = b_.start[i];
      }
      split(at, i);
      at = b_.end[i];
      at_row = i + 1;
      only_headings = true;
    }
    run_of_blocks(at, stop, at_row, last_row);
  }

  // ---- text between long tables and code blocks

  void run_of_blocks(int64_t begin, int64_t end, int32_t row, int32_t last_row) {
    const int64_t start = start_at(begin, end, false), stop = trim_space(text_.data(), start, end);
    if (start >= stop) return;
    int64_t tokens;
    if (fits(start, stop, budget_, tokens)) return add(start, stop, tokens);
    if (options_.defer) {
      add(start, stop, 0);
      out_.back().deferred = true;
      return;
    }
    find_boundaries(start, stop, row, last_row);
    pack_range(start, stop, budget_);
  }

  // Where [start, stop) may be cut, by level. Never after a heading, but before a table or code that fits as a whole.
  void find_boundaries(int64_t start, int64_t stop, int32_t row, int32_t last_row) {
    clear_boundaries();
    BlockKind before = BlockKind::heading;
    for (int32_t i = row; i < last_row && b_.start[i] < stop; ++i) {
      const int64_t at = b_.start[i], end = std::min(b_.end[i], stop);
      const bool whole = kind(i) == BlockKind::table || kind(i) == BlockKind::fenced_code;
      if (at > start && (before != BlockKind::heading || whole))
        add_boundary(b_.parent[i] < 0 && before != BlockKind::heading ? between_ : within_, at);
      before = kind(i);
      switch (kind(i)) {
        case BlockKind::table: add_lines(lines_, b_.text_end[i], end); break;
        case BlockKind::fenced_code:
        case BlockKind::indented_code:
        case BlockKind::math:
        case BlockKind::front_matter:
        case BlockKind::html: add_lines(lines_, at, end); break;
        case BlockKind::paragraph:
          spans_.clear();
          sentence_spans(text_.data() + at, end - at, Language::automatic, false, spans_);
          for (size_t k = 1; k < spans_.size(); ++k) add_boundary(sentences_, at + spans_[k].start);
          add_lines(soft_lines_, at, end);
          break;
        default: break;
      }
    }
  }

  static void add_boundary(std::vector<Span>& level, int64_t at) {
    if (level.empty() || level.back().end < at) level.push_back({at, at});
  }
  void add_lines(std::vector<Span>& level, int64_t from, int64_t end) const {
    for (int64_t p = next_line(from, end); p < end; p = next_line(p, end)) add_boundary(level, p);
  }
  void clear_boundaries() {
    for (auto* level : {&between_, &within_, &lines_, &sentences_, &soft_lines_}) level->clear();
  }

  int64_t next_line(int64_t at, int64_t end) const {
    while (at < end && text_[at] != '\n' && text_[at] != '\r') ++at;
    if (at >= end) return end;
    return at + 1 + (text_[at] == '\r' && at + 1 < end && text_[at + 1] == '\n');
  }

  static Level positions(const std::vector<Span>& spans) {
    Level level;
    level.kind = Level::Kind::positions;
    level.first = spans.data();
    level.last = spans.data() + spans.size();
    return level;
  }
  void pack_range(int64_t start, int64_t stop, int64_t budget) {
    const std::vector<Level> levels = {positions(between_),   positions(within_),     positions(lines_),
                                       positions(sentences_), positions(soft_lines_), Level{}};
    PackOptions options;
    options.max_tokens = std::max<int64_t>(budget, 1);
    options.min_tokens = std::min(options_.min_tokens, options.max_tokens);
    options.overlap = std::min(options_.overlap, options.max_tokens - 1);
    packed_.clear();
    pack(text_, start, stop, measure_, levels, options, packed_);
    for (const PackedChunk& c : packed_) add(c.start, c.end, c.tokens);
  }

  // ---- long tables and code

  // Cuts [begin, end of block `row`) between lines; `begin` may be before the block, at headings that go with it.
  void split(int64_t begin, int32_t row) {
    const bool table = kind(row) == BlockKind::table;
    const int64_t end = trim_space(text_.data(), begin, b_.end[row]);
    // The header rows, or the fence, and where the rows or lines after it begin.
    const int64_t head = b_.start[row], head_end = b_.text_end[row], body = table ? head_end : next_line(head_end, end);
    int64_t opening = count(head, body);
    int64_t closing = table ? 0 : count(head, fence_end(head, head_end)) + count(head_end, body);
    // Delimiter rows as wide as the table would often be half of a chunk.
    const bool shorten = table && opening > budget_ / 4;
    if (shorten) opening = short_header(head, head_end);
    const bool repeats = opening + closing <= budget_ / 2;
    if (!repeats) opening = closing = 0;
    for (int64_t at = start_at(begin, end, false); at < end;) {
      const bool first = at <= head;
      const Repeat middle = !repeats || first ? Repeat::nothing
                            : shorten         ? Repeat::short_table_header
                            : table           ? Repeat::table_header
                                              : Repeat::fences;
      const int64_t room = budget_ - (first ? 0 : opening);
      int64_t stop = end;
      if (!fits(at, end, room)) {
        const int64_t least = first ? body : at;  // the first piece has at least one row or line
        stop = last_line(at, end, least, room - closing);
        if (stop < 0) {  // not even one line fits
          stop = first ? body : next_line(at, end);
          const size_t from = out_.size();
          clear_boundaries();
          pack_range(at, stop, room - closing);
          for (size_t i = from; i < out_.size(); ++i) repeat(out_[i], middle, row);
          at = start_at(stop, end, !table);
          continue;
        }
      }
      const int64_t trimmed = trim_space(text_.data(), at, stop);
      add(at, trimmed, count(at, trimmed));
      if (table || !repeats)
        repeat(out_.back(), middle, row);
      else if (first)
        repeat(out_.back(), Repeat::closing_fence, row);
      else
        repeat(out_.back(), stop == end && closed(row) ? Repeat::opening_fence : Repeat::fences, row);
      at = start_at(stop, end, !table);
    }
  }

  // Tokens of a table's header row and shortened delimiter row.
  int64_t short_header(int64_t head, int64_t head_end) const {
    const int64_t delimiter = next_line(head, head_end);
    int64_t bytes = 0, run = 0;
    for (int64_t p = delimiter; p < head_end; ++p) {
      run = text_[p] == '-' ? run + 1 : 0;
      bytes += run <= 3;
    }
    return count(head, delimiter) + std::min(count(delimiter, head_end), bytes);
  }

  // The end of the fence in the line [head, head_end), where marks of containers may be before it.
  int64_t fence_end(int64_t head, int64_t head_end) const {
    int64_t p = head, run = 0;
    for (; p < head_end; ++p) {
      const char c = text_[p];
      if (run >= 3 && c != text_[p - 1]) break;
      run = c != '`' && c != '~' ? 0 : run > 0 && c == text_[p - 1] ? run + 1 : 1;
    }
    return p;
  }

  void repeat(MarkdownChunk& chunk, Repeat what, int32_t row) const {
    chunk.repeat = what;
    if (what == Repeat::nothing) return;
    chunk.repeat_start = b_.start[row];
    chunk.repeat_end = b_.text_end[row];
  }

  // Whether the fenced code block ends with a fence.
  bool closed(int32_t row) const {
    const int64_t end = trim_space(text_.data(), b_.start[row], b_.end[row]);
    int64_t line = end;
    while (line > b_.start[row] && text_[line - 1] != '\n' && text_[line - 1] != '\r') --line;
    const char mark = text_[end - 1];
    return line > b_.start[row] && end - line >= 3 && (mark == '`' || mark == '~') && text_[end - 2] == mark &&
           text_[end - 3] == mark;
  }

  // The last line start in (least, end) such that [at, there) is within `room` tokens, or -1.
  int64_t last_line(int64_t at, int64_t end, int64_t least, int64_t room) const {
    if (room < 1) return -1;
    // From the first word on: a measure of words takes indentation for the rest of one more.
    const int64_t word = skip_space(text_.data(), at, end), left = std::max<int64_t>(room - count(at, word), 0);
    int64_t p = skip_space(text_.data(), measure_.reach_to(word, left, end), end);
    for (int tries = 0; p > least; --p) {
      if (p < end && text_[p - 1] != '\n' && !(text_[p - 1] == '\r' && text_[p] != '\n')) continue;
      if (p == end) continue;
      if (count(at, trim_space(text_.data(), at, p)) <= room) return p;
      if (++tries > 8) {  // the measure is an estimate and far off: go down faster
        p = std::max(least + 1, at + (p - at) / 2);
        tries = 0;
      }
    }
    return -1;
  }

  // ---- the minimum

  int32_t common(int32_t a, int32_t b) const {
    while (a != b) {
      int32_t& deeper = b_.section_level[a] >= b_.section_level[b] ? a : b;
      deeper = b_.section_parent[deeper];
    }
    return a;
  }

  // How close two neighbours are: in one section, of one parent or parent and child, neither. -1 where they cannot
  // merge.
  int affinity(const MarkdownChunk& a, const MarkdownChunk& b) const {
    if (a.deferred || b.deferred || a.repeat != Repeat::nothing || b.repeat != Repeat::nothing) return -1;
    const int32_t both = common(a.section, b.section);
    if (!fits(a.start, b.end, options_.max_tokens - reserved_[both])) return -1;
    if (a.section == b.section) return 2;
    const bool near = (both == a.section || b_.section_parent[a.section] == both) &&
                      (both == b.section || b_.section_parent[b.section] == both);
    return near ? 1 : 0;
  }

  MarkdownChunk joined(const MarkdownChunk& a, const MarkdownChunk& b) const {
    MarkdownChunk c = a;
    c.end = b.end;
    c.section = common(a.section, b.section);
    c.tokens = count(c.start, c.end);
    return c;
  }

  void merge(size_t first) {
    std::vector<MarkdownChunk> pieces(out_.begin() + static_cast<int64_t>(first), out_.end());
    out_.resize(first);
    for (size_t i = 0; i < pieces.size(); ++i) {
      MarkdownChunk c = pieces[i];
      while (c.tokens < options_.min_tokens) {
        const int back = out_.size() > first ? affinity(out_.back(), c) : -1;
        const int forth = i + 1 < pieces.size() ? affinity(c, pieces[i + 1]) : -1;
        if (back < 0 && forth < 0) break;
        if (back > forth) {
          c = joined(out_.back(), c);
          out_.pop_back();
        } else {
          c = joined(c, pieces[++i]);
        }
      }
      out_.push_back(c);
    }
  }

  const std::string_view text_;
  const BlockColumns& b_;
  const Measure& measure_;
  const MarkdownChunkOptions& options_;
  std::vector<MarkdownChunk>& out_;

  std::vector<int64_t> reserved_;
  int32_t section_ = 0;
  int64_t budget_ = 0;
  std::vector<Span> between_, within_, lines_, sentences_, soft_lines_, spans_;
  std::vector<PackedChunk> packed_;
};

}  // namespace

void markdown_chunks(std::string_view text, const BlockColumns& blocks, const Measure& measure,
                     const MarkdownChunkOptions& options, std::vector<MarkdownChunk>& out) {
  Assembler(text, blocks, measure, options, out).run();
}

}  // namespace rc
