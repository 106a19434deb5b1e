// A cursor in one line: columns (a tab goes to the next multiple of four), indentation, and the marks of containers.
#pragma once
#include "structure/markdown_characters.h"

namespace rc::markdown {

class LineCursor {
 protected:
  LineCursor(const char* text, int64_t size) : text_(text), size_(size) {}

  // To the start of the line [line_, end_).
  void begin_line() {
    at_ = first_ = line_;
    column_ = first_column_ = 0;
    find_first();
  }

  int64_t indent() const { return first_column_ - column_; }
  bool blank() const { return first_ == end_; }
  Text rest() const { return {text_ + first_, text_ + end_}; }
  int64_t trimmed(int64_t end, int64_t start) const { return markdown::trimmed(text_, end, start); }

  // Goes past `n` columns of white space; a tab may be left half used.
  void take_columns(int64_t n) {
    while (n > 0 && at_ < end_ && is_space(text_[at_])) {
      const int64_t width = text_[at_] == '\t' ? 4 - column_ % 4 : 1;
      if (width > n) {
        column_ += n;
        return;
      }
      column_ += width;
      n -= width;
      ++at_;
    }
  }
  // Goes past the first `n` characters that are not white space.
  void take_marks(int64_t n) {
    at_ = first_ + n;
    column_ = first_column_ + n;
    find_first();
  }
  void take_quote_mark() {
    take_marks(1);
    take_columns(1);
  }

  const char* const text_;
  const int64_t size_;
  int64_t line_ = 0, end_ = 0, next_ = 0;  // this line: start, end without its break, start of the next
  int64_t at_ = 0, column_ = 0;            // cursor; a column of a tab may be taken before its byte is
  int64_t first_ = 0, first_column_ = 0;   // first character at or after the cursor that is no space

 private:
  // The first character that is no space, its column, and from these the indentation.
  void find_first() {
    if (first_ > at_) return;
    first_ = at_;
    first_column_ = column_;
    for (; first_ < end_ && is_space(text_[first_]); ++first_)
      first_column_ += text_[first_] == '\t' ? 4 - first_column_ % 4 : 1;
  }
};

}  // namespace rc::markdown
