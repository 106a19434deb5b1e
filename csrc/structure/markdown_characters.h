// Characters and ranges of a line, as the Markdown rules see them.
#pragma once
#include <cstdint>

namespace rc::markdown {

inline bool is_space(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The rest of a line.
struct Text {
  const char* p;
  const char* end;
  bool has(int64_t n) const { return end - p >= n; }
  void spaces() {
    while (p < end && is_space(*p)) ++p;
  }
};

// Without white space at the end.
inline int64_t trimmed(const char* text, int64_t end, int64_t start) {
  while (end > start && is_space(text[end - 1])) --end;
  return end;
}
// Where the line that `at` is in ends, without its break; and where the next one begins.
inline int64_t line_end(const char* text, int64_t size, int64_t at) {
  while (at < size && text[at] != '\n' && text[at] != '\r') ++at;
  return at;
}
inline int64_t after_break(const char* text, int64_t size, int64_t end) {
  if (end == size) return end;
  return end + 1 + (text[end] == '\r' && end + 1 < size && text[end + 1] == '\n');
}

}  // namespace rc::markdown
