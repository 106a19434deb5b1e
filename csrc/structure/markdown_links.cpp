#include "structure/markdown_links.h"

#include "structure/markdown_characters.h"

namespace rc::markdown {
namespace {

class Reader {
 public:
  Reader(const char* text, const std::vector<ParagraphLine>& lines) : text_(text), lines_(lines) {}

  size_t read(size_t from, Span& label) {
    line_ = from;
    if (line_ >= lines_.size()) return from;
    at_ = lines_[line_].text;
    if (!read_label(label) || !read_gap() || !read_destination()) return from;
    const size_t line = line_;
    const int64_t at = at_;
    skip_spaces();
    const bool ends_here = at_ == lines_[line].text_end;
    const bool gap = at_ > at;
    if ((ends_here ? next_line() : gap) && read_title()) {
      skip_spaces();
      if (at_ == lines_[line_].text_end) return line_ + 1;
    }
    return ends_here ? line + 1 : from;
  }

 private:
  char here() const { return at_ < lines_[line_].text_end ? text_[at_] : '\n'; }
  bool next_line() {
    if (line_ + 1 >= lines_.size()) return false;
    at_ = lines_[++line_].text;
    return true;
  }
  void skip_spaces() {
    while (is_space(here())) ++at_;
  }
  bool read_gap() {  // spaces with at most one line break
    skip_spaces();
    return here() != '\n' || next_line();
  }
  bool read_label(Span& label) {
    if (here() != '[') return false;
    label.start = ++at_;
    bool blank = true;
    for (int n = 0; n < 1000; ++n) {
      const char c = here();
      if (c == '\n') {
        if (!next_line()) return false;
        continue;
      }
      if (c == '[') return false;
      if (c == ']') {
        label.end = at_++;
        if (blank || here() != ':') return false;
        ++at_;
        return true;
      }
      blank = blank && is_space(c);
      ++at_;
      if (c == '\\' && here() != '\n') ++at_;
    }
    return false;
  }
  bool read_destination() {
    if (here() == '<') {
      for (++at_; here() != '>'; ++at_) {
        if (here() == '\n' || here() == '<') return false;
        if (here() == '\\' && at_ + 1 < lines_[line_].text_end) ++at_;
      }
      ++at_;
      return true;
    }
    const int64_t begin = at_;
    int open = 0;
    for (; at_ < lines_[line_].text_end; ++at_) {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c <= ' ' || c == 0x7f) break;
      if (c == '\\' && at_ + 1 < lines_[line_].text_end && !is_space(text_[at_ + 1])) {
        ++at_;
      } else if (c == '(') {
        if (++open > 32) return false;
      } else if (c == ')' && --open < 0) {
        break;
      }
    }
    return at_ > begin && open <= 0;
  }
  bool read_title() {
    const char opening = here();
    if (opening != '"' && opening != '\'' && opening != '(') return false;
    const char closing = opening == '(' ? ')' : opening;
    for (++at_;;) {
      const char c = here();
      if (c == '\n') {
        if (!next_line()) return false;
        continue;
      }
      ++at_;
      if (c == closing) return true;
      if (c == '(' && opening == '(') return false;
      if (c == '\\' && here() != '\n') ++at_;
    }
  }

  const char* text_;
  const std::vector<ParagraphLine>& lines_;
  size_t line_ = 0;
  int64_t at_ = 0;
};

}  // namespace

size_t read_definition(const char* text, const std::vector<ParagraphLine>& lines, size_t from, Span& label) {
  return Reader(text, lines).read(from, label);
}

}  // namespace rc::markdown
