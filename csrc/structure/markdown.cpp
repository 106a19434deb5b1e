#include "structure/markdown.h"

#include <algorithm>
#include <cstring>

#include "structure/markdown_characters.h"
#include "structure/markdown_html.h"
#include "structure/markdown_line.h"
#include "structure/markdown_links.h"
#include "structure/markdown_tables.h"

namespace rc {
namespace {

using markdown::after_break;
using markdown::is_digit;
using markdown::is_space;
using markdown::line_end;
using markdown::ParagraphLine;

// Characters that, first on a line after a paragraph's line, can be more than text of that paragraph.
struct Starts {
  bool special[256] = {};
  constexpr Starts() {
    for (const char* p = " \t#>`~*-_+0123456789<=|:[$\\"; *p; ++p) special[static_cast<unsigned char>(*p)] = true;
  }
};
constexpr Starts kStarts;

class Scanner : markdown::LineCursor {
 public:
  Scanner(const char* text, int64_t size, const MarkdownOptions& options, BlockColumns& out)
      : LineCursor(text, size), options_(options), out_(out) {}

  void run() {
    out_.clear();
    open_section(0, -1, 0);
    next_ = size_ >= 3 && std::memcmp(text_, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (options_.front_matter) front_matter();
    constexpr int64_t kBreaks = 1024;
    int64_t breaks[kBreaks];
    const auto find = RC_PICK(line_breaks);
    for (int64_t at = next_; at < size_;) {
      const int64_t n = find(text_, at, size_, breaks, kBreaks, &at);
      for (int64_t i = 0; i < n; ++i) {
        if (breaks[i] < next_) continue;  // the second half of \r\n
        line(breaks[i], after_break(text_, size_, breaks[i]));
      }
    }
    if (next_ < size_) line(size_, size_);
    close_to(0);
    for (int i = 0; i < open_sections_; ++i) out_.section_end[sections_[i]] = size_;
  }

 private:
  struct Container {
    BlockKind kind;
    int32_t row;
    int64_t indent;  // columns that a line must have to go on in a list item or footnote
    bool empty;
  };
  enum class Leaf { none, paragraph, fence, indented, html, math, table };

  // ---- lines and columns

  void line(int64_t end, int64_t next) {
    line_ = next_;
    end_ = end;
    next_ = next;
    if (depth_ == 0 && needs_no_scan()) return;
    begin_line();
    scan();
  }

  // Most lines outside of containers are dealt with by a look at their first character.
  bool needs_no_scan() {
    switch (leaf_) {
      case Leaf::fence: {
        int64_t p = line_;
        while (p < end_ && is_space(text_[p])) ++p;
        if (p == end_) return true;
        if (text_[p] == fence_char_) return false;
        break;
      }
      case Leaf::paragraph:
        if (line_ == end_) {
          close_leaf();
          return true;
        }
        if (kStarts.special[static_cast<unsigned char>(text_[line_])]) return false;
        add_line(line_);
        break;
      case Leaf::none: return line_ == end_;
      default: return false;
    }
    leaf_end_ = next_;
    return true;
  }

  // ---- rows

  int32_t push(BlockKind kind, int64_t start, int64_t end, int32_t level = 0, int64_t text_start = 0,
               int64_t text_end = 0) {
    out_.kind.push_back(static_cast<uint8_t>(kind));
    out_.start.push_back(start);
    out_.end.push_back(end);
    out_.level.push_back(level);
    out_.text_start.push_back(text_end ? text_start : start);
    out_.text_end.push_back(text_end ? text_end : start);
    out_.parent.push_back(depth_ ? stack_[depth_ - 1].row : -1);
    out_.section.push_back(static_cast<int32_t>(out_.section_start.size()) - 1);
    if (depth_) {
      stack_[depth_ - 1].empty = false;
      grow(stack_[depth_ - 1].row, end);
    }
    return static_cast<int32_t>(out_.kind.size()) - 1;
  }
  void pop() {
    out_.kind.pop_back(), out_.start.pop_back(), out_.end.pop_back(), out_.level.pop_back();
    out_.text_start.pop_back(), out_.text_end.pop_back(), out_.parent.pop_back(), out_.section.pop_back();
  }
  void grow(int32_t row, int64_t end) { out_.end[row] = std::max(out_.end[row], end); }

  void open_section(int32_t level, int32_t block, int64_t start) {
    while (open_sections_ > 1 && out_.section_level[sections_[open_sections_ - 1]] >= level)
      out_.section_end[sections_[--open_sections_]] = start;
    out_.section_parent.push_back(open_sections_ ? sections_[open_sections_ - 1] : -1);
    sections_[open_sections_++] = static_cast<int32_t>(out_.section_level.size());
    out_.section_level.push_back(level);
    out_.section_block.push_back(block);
    out_.section_start.push_back(start);
    out_.section_end.push_back(size_);
  }

  void heading(int64_t start, int32_t level, int64_t text_start, int64_t text_end) {
    if (depth_ == 0 && (options_.heading_levels >> level & 1))
      open_section(level, static_cast<int32_t>(out_.kind.size()), start);
    const int32_t row = push(BlockKind::heading, start, next_, level);
    out_.text_start[row] = text_start;
    out_.text_end[row] = text_end;
  }

  // ---- leaves

  void open_leaf(Leaf leaf, BlockKind kind, int64_t text_start = 0, int64_t text_end = 0) {
    leaf_ = leaf;
    leaf_row_ = push(kind, line_, next_, 0, text_start, text_end);
    leaf_end_ = next_;
  }

  void open_paragraph() {
    open_leaf(Leaf::paragraph, BlockKind::paragraph);
    paragraph_text_ = first_;
    may_define_ = text_[first_] == '[';
    lines_.clear();
    add_line(first_);
  }
  void add_line(int64_t text) {
    last_ = {line_, text, end_, next_};
    if (may_define_) lines_.push_back(last_);
  }

  void close_leaf() {
    if (leaf_ == Leaf::none) return;
    out_.end[leaf_row_] = leaf_end_;
    if (depth_) grow(stack_[depth_ - 1].row, leaf_end_);
    const bool defines = leaf_ == Leaf::paragraph && may_define_;
    leaf_ = Leaf::none;
    if (defines && take_definitions() < lines_.size()) push(BlockKind::paragraph, paragraph_start_, leaf_end_);
  }

  // Turns the link definitions that begin the paragraph into rows and takes the paragraph's own row away. Returns the
  // first line that is left.
  size_t take_definitions() {
    pop();
    size_t from = 0;
    Span label{};
    for (size_t next; (next = markdown::read_definition(text_, lines_, from, label)) != from; from = next)
      push(BlockKind::link_definition, lines_[from].start, lines_[next - 1].next, 0, label.start, label.end);
    if (from < lines_.size()) {
      paragraph_start_ = lines_[from].start;
      paragraph_text_ = lines_[from].text;
    }
    return from;
  }

  void close_to(int depth) {
    close_leaf();
    while (depth_ > depth) {
      const Container& c = stack_[--depth_];
      (c.kind == BlockKind::list_item ? items_ : c.kind == BlockKind::block_quote ? quotes_ : notes_) -= 1;
      if (depth_) grow(stack_[depth_ - 1].row, out_.end[c.row]);
    }
  }

  void open_container(BlockKind kind, int64_t indent, int64_t text_start, int64_t text_end) {
    int32_t& level = kind == BlockKind::list_item ? items_ : kind == BlockKind::block_quote ? quotes_ : notes_;
    ++level;
    const int32_t row = push(kind, line_, next_, kind == BlockKind::footnote ? 0 : level, text_start, text_end);
    stack_[depth_++] = {kind, row, indent, true};
  }

  // ---- one line

  // How many of the open containers this line goes on in; the cursor is then after their marks.
  int match_containers() {
    // A blank line goes on in every list item but an empty one, which is innermost: no need to ask them all.
    if (blank() && quotes_ == 0)
      return depth_ - (depth_ && stack_[depth_ - 1].empty && stack_[depth_ - 1].kind == BlockKind::list_item);
    int matched = 0;
    for (; matched < depth_; ++matched) {
      Container& c = stack_[matched];
      if (c.kind == BlockKind::block_quote) {
        if (blank() || indent() > 3 || text_[first_] != '>') break;
        grow(c.row, next_);
        take_quote_mark();
      } else if (indent() >= c.indent && !blank()) {
        take_columns(c.indent);
      } else if (!blank() || (c.empty && c.kind == BlockKind::list_item)) {
        break;
      }
    }
    return matched;
  }

  // True when the line belongs to the open leaf (which is in the innermost container), or ends it.
  bool go_on() {
    switch (leaf_) {
      case Leaf::fence:
        if (closes_fence()) {
          leaf_end_ = next_;
          close_leaf();
        } else if (!blank()) {
          leaf_end_ = next_;
        }
        return true;
      case Leaf::indented:
        if (blank()) return true;
        if (indent() < 4) return false;
        leaf_end_ = next_;
        return true;
      case Leaf::html:
        if (blank() && html_kind_ >= 6) return false;
        if (!blank()) leaf_end_ = next_;
        if (markdown::html_ends(html_kind_, rest())) close_leaf();
        return true;
      case Leaf::math:
        if (blank()) return false;
        leaf_end_ = next_;
        if (ends_with(end_, math_close_)) close_leaf();
        return true;
      case Leaf::paragraph: return !blank() && indent() < 4 && (begins_table() || setext());
      default: return false;
    }
  }

  void scan() {
    int matched = match_containers();
    if (matched == depth_ && go_on()) return;
    bool lazy = matched < depth_ && leaf_ == Leaf::paragraph;
    while (!blank()) {
      const bool in_paragraph = matched == depth_ && leaf_ == Leaf::paragraph;
      if (indent() >= 4) {
        if (in_paragraph || lazy) break;
        close_to(matched);
        open_leaf(Leaf::indented, BlockKind::indented_code);
        return;
      }
      const bool in_table = matched == depth_ && leaf_ == Leaf::table;
      if (open_line_block(matched, in_paragraph || lazy || in_table)) return;
      if (matched >= kMaxDepth || !container(matched, in_paragraph)) break;
      matched = depth_;
      lazy = false;
    }
    if (blank()) {
      close_to(matched);
    } else if (lazy || (matched == depth_ && leaf_ == Leaf::paragraph)) {
      add_line(first_);
      leaf_end_ = next_;
    } else if (matched == depth_ && leaf_ == Leaf::table) {
      leaf_end_ = next_;
    } else {
      close_to(matched);
      open_paragraph();
    }
  }

  // Opens the leaf that this line begins by its marks: heading, fence, HTML, math, thematic break.
  bool open_line_block(int matched, bool interrupts) {
    const char c = text_[first_];
    switch (c) {
      case '#': return atx(matched);
      case '`':
      case '~': return fence(matched);
      case '<': {
        const int kind = markdown::html_kind(rest());
        if (kind == 0 || (kind == 7 && interrupts)) return false;
        close_to(matched);
        open_leaf(Leaf::html, BlockKind::html);
        html_kind_ = kind;
        if (markdown::html_ends(kind, rest())) close_leaf();
        return true;
      }
      case '*':
      case '-':
      case '_':
        if (!is_rule(c)) return false;
        close_to(matched);
        push(BlockKind::thematic_break, line_, next_);
        return true;
      case '$':
      case '\\': return options_.math && math(matched);
      default: return false;
    }
  }

  bool atx(int matched) {
    int64_t p = first_;
    while (p < end_ && text_[p] == '#') ++p;
    const int64_t level = p - first_;
    if (level > 6 || (p < end_ && !is_space(text_[p]))) return false;
    while (p < end_ && is_space(text_[p])) ++p;
    int64_t q = trimmed(end_, p), marks = q;
    while (marks > p && text_[marks - 1] == '#') --marks;
    if (marks == p || is_space(text_[marks - 1])) q = trimmed(marks, p);
    close_to(matched);
    heading(line_, static_cast<int32_t>(level), p, q);
    return true;
  }

  bool setext() {
    const char c = text_[first_];
    if (c != '=' && c != '-') return false;
    int64_t p = first_;
    while (p < end_ && text_[p] == c) ++p;
    if (trimmed(end_, p) != p) return false;
    paragraph_start_ = out_.start[leaf_row_];
    if (may_define_) {
      if (take_definitions() == lines_.size()) {  // nothing is left for a title: the line begins a paragraph
        leaf_ = Leaf::none;
        if (c == '-') return false;
        open_paragraph();
        return true;
      }
    } else {
      pop();
    }
    leaf_ = Leaf::none;
    heading(paragraph_start_, c == '=' ? 1 : 2, paragraph_text_, trimmed(last_.text_end, paragraph_text_));
    return true;
  }

  bool fence(int matched) {
    const char c = text_[first_];
    int64_t p = first_;
    while (p < end_ && text_[p] == c) ++p;
    if (p - first_ < 3 || (c == '`' && std::memchr(text_ + p, '`', static_cast<size_t>(end_ - p)))) return false;
    fence_char_ = c;
    fence_length_ = p - first_;
    while (p < end_ && is_space(text_[p])) ++p;
    close_to(matched);
    open_leaf(Leaf::fence, BlockKind::fenced_code, p, trimmed(end_, p));
    return true;
  }
  bool closes_fence() const {
    if (blank() || indent() > 3 || text_[first_] != fence_char_) return false;
    int64_t p = first_;
    while (p < end_ && text_[p] == fence_char_) ++p;
    return p - first_ >= fence_length_ && trimmed(end_, p) == p;
  }

  bool is_rule(char c) const {
    int n = 0;
    for (int64_t p = first_; p < end_; ++p) {
      if (text_[p] == c)
        n += n < 3;
      else if (!is_space(text_[p]))
        return false;
    }
    return n == 3;
  }

  // ---- containers

  bool container(int matched, bool in_paragraph) {
    const char c = text_[first_];
    if (c == '>') {
      close_to(matched);
      open_container(BlockKind::block_quote, 0, 0, 0);
      take_quote_mark();
      return true;
    }
    if (c == '[') return options_.footnotes && footnote(matched);
    if (c == '*' || c == '+' || c == '-' || is_digit(c)) return list_item(matched, in_paragraph);
    return false;
  }

  bool footnote(int matched) {
    if (first_ + 1 >= end_ || text_[first_ + 1] != '^') return false;
    int64_t p = first_ + 2;
    while (p < end_ && !is_space(text_[p]) && text_[p] != ']' && text_[p] != '[') ++p;
    if (p == first_ + 2 || p + 1 >= end_ || text_[p] != ']' || text_[p + 1] != ':') return false;
    close_to(matched);
    open_container(BlockKind::footnote, 4, first_ + 2, p);
    take_marks(p + 2 - first_);
    take_columns(indent());
    return true;
  }

  bool list_item(int matched, bool in_paragraph) {
    int64_t p = first_;
    while (p < end_ && is_digit(text_[p])) ++p;
    const bool ordered = p > first_;
    if (p - first_ > 9 || p == end_ || (ordered && text_[p] != '.' && text_[p] != ')')) return false;
    ++p;
    if (p < end_ && !is_space(text_[p])) return false;
    const bool empty = trimmed(end_, p) == p;
    if (in_paragraph && (empty || (ordered && !is_one(first_, p - 1)))) return false;
    close_to(matched);
    const int64_t before = indent(), width = p - first_;
    open_container(BlockKind::list_item, 0, first_, p);
    take_marks(width);
    // The text begins 1 to 4 columns after the marker; with more, or none, at one column, and the rest is its own.
    const int64_t gap = blank() || indent() > 4 ? 1 : indent();
    take_columns(gap);
    stack_[depth_ - 1].indent = before + width + gap;
    return true;
  }
  bool is_one(int64_t from, int64_t to) const {
    while (from + 1 < to && text_[from] == '0') ++from;
    return to - from == 1 && text_[from] == '1';
  }

  // ---- tables, math, front matter

  // In a paragraph: is this the delimiter row of a table whose header is the paragraph's last line?
  bool begins_table() {
    const char c = text_[first_];
    if (!options_.tables || (c != '|' && c != '-' && c != ':')) return false;
    const int64_t cells = markdown::delimiter_cells(rest());
    if (cells == 0 || markdown::row_cells({text_ + last_.text, text_ + last_.text_end}) != cells) return false;
    const ParagraphLine header = last_;
    if (out_.start[leaf_row_] == header.start) {
      pop();
      leaf_ = Leaf::none;
    } else {
      leaf_end_ = header.start;
      if (may_define_) lines_.pop_back();
      close_leaf();
    }
    leaf_ = Leaf::table;
    leaf_row_ = push(BlockKind::table, header.start, next_, 0, header.start, next_);
    leaf_end_ = next_;
    return true;
  }

  bool math(int matched) {
    const bool dollars = text_[first_] == '$';
    if (end_ - first_ < 2 || text_[first_ + 1] != (dollars ? '$' : '[')) return false;
    const char* close = dollars ? "$$" : "\\]";
    const bool one_line = trimmed(end_, first_) - first_ >= 4 && ends_with(end_, close);
    if (!one_line && !finds_math_close(ahead_[dollars], close)) return false;
    close_to(matched);
    open_leaf(Leaf::math, BlockKind::math);
    math_close_ = close;
    if (one_line) close_leaf();
    return true;
  }
  bool ends_with(int64_t end, const char* two) const {
    const int64_t q = trimmed(end, first_);
    return q - first_ >= 2 && text_[q - 2] == two[0] && text_[q - 1] == two[1];
  }

  // What a look-ahead has found: the lines from `from` up to the one at `until` neither are blank nor close the math;
  // `found` says that the line at `until` closes it.
  struct Ahead {
    int64_t from = -1, until = -1;
    bool found = false;
  };
  bool finds_math_close(Ahead& ahead, const char* close) {
    if (ahead.from <= next_ && next_ <= ahead.until) return ahead.found;
    ahead = {next_, next_, false};
    for (int64_t p = next_; p < size_;) {
      const int64_t end = line_end(text_, size_, p), q = trimmed(end, p);
      if (q == p) break;
      ahead.until = p;
      if (q - p >= 2 && text_[q - 2] == close[0] && text_[q - 1] == close[1]) return ahead.found = true;
      p = after_break(text_, size_, end);
      ahead.until = p;
    }
    return false;
  }

  void front_matter() {
    const int64_t start = next_, end = line_end(text_, size_, start), q = trimmed(end, start);
    if (q - start != 3 || (std::memcmp(text_ + start, "---", 3) != 0 && std::memcmp(text_ + start, "+++", 3) != 0))
      return;
    const char c = text_[start];
    const int64_t body = after_break(text_, size_, end);
    for (int64_t p = body; p < size_;) {
      const int64_t e = line_end(text_, size_, p), t = trimmed(e, p);
      if (p == body && t == p) return;  // a rule, then a blank line
      const bool same = t - p == 3 && text_[p] == c && text_[p + 1] == c && text_[p + 2] == c;
      const bool dots = c == '-' && t - p == 3 && std::memcmp(text_ + p, "...", 3) == 0;
      const int64_t after = after_break(text_, size_, e);
      if (same || dots) {
        const int32_t row = push(BlockKind::front_matter, start, after);
        out_.text_start[row] = body;
        out_.text_end[row] = p;
        next_ = after;
        return;
      }
      p = after;
    }
  }

  const MarkdownOptions options_;
  BlockColumns& out_;

  Container stack_[kMaxDepth];
  int depth_ = 0;
  int32_t items_ = 0, quotes_ = 0, notes_ = 0;  // open containers of each kind
  int32_t sections_[8];
  int open_sections_ = 0;

  Leaf leaf_ = Leaf::none;
  int32_t leaf_row_ = 0;
  int64_t leaf_end_ = 0;
  int64_t paragraph_start_ = 0, paragraph_text_ = 0;
  bool may_define_ = false;  // the paragraph begins with '[': its lines are kept for Definitions
  std::vector<ParagraphLine> lines_;
  ParagraphLine last_{};  // the paragraph's last line
  char fence_char_ = 0;
  int64_t fence_length_ = 0;
  int html_kind_ = 0;
  const char* math_close_ = nullptr;
  Ahead ahead_[2];
};

}  // namespace

void markdown_blocks(const char* text, int64_t size, const MarkdownOptions& options, BlockColumns& out) {
  Scanner(text, size, options, out).run();
}

}  // namespace rc
