// HTML -> the text that a browser would show, and where its headings and section elements are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text_buffer.h"

namespace rc {

constexpr int64_t kHtmlTable = 7, kHtmlRow = 8, kHtmlCode = 9;

struct HtmlEvent {
  int64_t start;  // byte of the text
  int64_t level;  // 1 to 6: a heading; 0, -1: a section element begins, ends; 7: an outermost table; 8: a row of it;
                  // 9: an outermost pre that is in no table
  int64_t end;    // of a heading's, table's or pre's text; of a row, whether it is a header
};

struct HtmlText {
  TextBuffer text;
  std::vector<HtmlEvent> events;
};

// `html` is what a parser has written out again (all tags closed, "<" escaped in text and attributes, no raw text
// elements); anything else is read without harm, but not as a browser would. The rules are those of the reference.
HtmlText html_text(std::string_view html, const std::vector<std::string>& section_tags,
                   const std::vector<std::string>& drop_tags);

// The names of the HTML standard and what they stand for.
class HtmlEntities {
 public:
  // `name` is without the ampersand, and with its semicolon, unless it is one that may lack it.
  void add(std::string name, std::string characters);
  bool empty() const { return table_.empty(); }
  // Appends what the character reference at `at` (an ampersand) stands for, else the ampersand. Returns where to go on.
  size_t append(std::string_view text, size_t at, bool in_attribute, std::string& out) const;

 private:
  std::unordered_map<std::string, std::string> table_;
  size_t longest_ = 0;
};

// The same of a page as its author wrote it: html_text of what a parser makes of it, without scripts and the like and
// without elements that are hidden or of HtmlChunker's list. False where that takes the parser's tree: text straight in
// a table, a form or heading that is closed by something else, formulas, and other rarities.
bool html_page(std::string_view html, const HtmlEntities& entities, const std::vector<std::string>& section_tags,
               HtmlText& result);

}  // namespace rc
