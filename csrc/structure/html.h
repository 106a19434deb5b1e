// Serialised HTML -> the text that a browser would show, and where its headings and section elements are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rc {

struct HtmlEvent {
  int64_t start;  // byte of the text
  int64_t level;  // 1 to 6: a heading; 0, -1: a section element begins, ends
  int64_t end;    // of a heading's text
};

struct HtmlText {
  std::string text;
  std::vector<HtmlEvent> events;
};

// `html` is what a parser has written out again (all tags closed, "<" escaped in text and attributes, no raw text
// elements); anything else is read without harm, but not as a browser would. The rules are those of the reference.
HtmlText html_text(std::string_view html, const std::vector<std::string>& section_tags,
                   const std::vector<std::string>& drop_tags);

}  // namespace rc
