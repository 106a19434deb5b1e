// Tags and text in the order of a page -> the text that a browser would show, and the events of html.h.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "structure/html.h"
#include "structure/html_tags.h"

namespace rc::html {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
inline bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// Runs of white space as one space, none at the ends.
inline void append_collapsed(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      while (i < text.size() && is_space(text[i])) i++;
      if (i < text.size()) out += ' ';
    } else {
      size_t j = i + 1;
      while (j < text.size() && !is_space(text[j])) j++;
      out.append(text, i, j - i);
      i = j;
    }
  }
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

class Renderer {
 public:
  Renderer(const std::vector<std::string>& section_tags, HtmlText& result)
      : section_tags_(section_tags), out_(result.text), events_(result.events) {}

  // Text with its entities decoded.
  void text(std::string_view text) {
    if (text.empty()) return;
    if (pre_ > 0) {
      begin();
      out_ += text;
      broken_ = out_.back() == '\n';
      return;
    }
    const std::string_view body = trimmed(text);
    if (body.empty()) {
      space_ |= !broken_;
      return;
    }
    space_ |= is_space(text.front()) && !broken_;
    begin();
    append_collapsed(body, out_);
    space_ = is_space(text.back());
    broken_ = false;
  }

  // A tag other than an image.
  void tag(std::string_view name, bool closing) {
    const Tag* known = find_tag(name);
    if (const int need = known ? known->breaks : 0) {
      breaks_ = std::max(breaks_, need);
      cells_ = 0;
    }
    if (name == "br" && !closing) {
      space_ = false;
      if (!out_.empty()) {
        begin();
        out_ += '\n';
        broken_ = true;
      }
    } else if (name == "td" || name == "th") {
      cells_ += closing && (breaks_ == 0 || new_row_);  // blocks in a cell are apart by breaks
      cell(name == "td", closing);
    }
    if (name == "pre" || name == "textarea") {
      pre_ = std::max(pre_ + (closing ? -1 : 1), 0);
      if (name == "pre") code(closing);
    }
    if (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6') {
      close_heading();
      if (!closing) {
        open_event(name[1] - '0', heading_);
      }
    } else if (std::find(section_tags_.begin(), section_tags_.end(), name) != section_tags_.end()) {
      events_.push_back({closing ? static_cast<int64_t>(out_.size()) : kWaiting, closing ? -1 : 0, 0});
      waiting_ |= !closing;
    } else if (name == "table" || name == "thead" || name == "tr") {
      new_row_ |= name == "tr" && !closing;
      table(name, closing);
    }
  }

  void image(std::string_view alt) {
    alt = trimmed(alt);
    if (alt.empty()) return;
    space_ = true;
    begin();
    append_collapsed(alt, out_);
    space_ = true;
    broken_ = false;
  }

  void finish() {
    close_heading();
    close_table();
    close(code_);
    settle();
    events_.erase(std::remove_if(events_.begin(), events_.end(), [](const HtmlEvent& e) { return e.level == kNone; }),
                  events_.end());
  }

 private:
  static constexpr int64_t kWaiting = -1;  // begins with the next text
  static constexpr int64_t kNone = 10;     // a heading, table or code without text

  // Writes what stands between the text so far and the text to come.
  void begin() {
    if (!out_.empty()) {
      out_.append(static_cast<size_t>(breaks_), '\n');
      if (breaks_ + cells_ == 0 && space_) out_ += ' ';
    }
    settle();
    out_.append(static_cast<size_t>(cells_), '\t');  // a row begins with its empty cells
    breaks_ = cells_ = 0;
    space_ = new_row_ = false;
  }

  void settle() {
    if (!waiting_) return;
    for (; settled_ < events_.size(); settled_++)
      if (events_[settled_].start == kWaiting) events_[settled_].start = static_cast<int64_t>(out_.size());
    waiting_ = false;
  }

  void close_heading() { close(heading_); }

  // Ends the heading, table or code at `number` among the events; one without text is none.
  void close(int64_t& number) {
    if (number < 0) return;
    HtmlEvent& event = events_[static_cast<size_t>(number)];
    if (event.start == kWaiting) {
      event = {static_cast<int64_t>(out_.size()), kNone, 0};
    } else {
      event.end = static_cast<int64_t>(out_.size());
    }
    number = -1;
  }

  // ---- tables: the outermost ones, their rows, and which rows are headers

  void open_event(int64_t level, int64_t& number) {
    number = static_cast<int64_t>(events_.size());
    events_.push_back({kWaiting, level, 0});
    waiting_ = true;
  }
  void table(std::string_view name, bool closing) {
    if (name == "table") {
      if (closing && tables_ == 1) close_table();
      tables_ = std::max(tables_ + (closing ? -1 : 1), 0);
      if (!closing && tables_ == 1) {
        close(code_);
        open_event(kHtmlTable, table_);
      }
    } else if (tables_ == 1 && name == "thead") {
      head_ = !closing;
    } else if (tables_ == 1 && !closing) {
      open_event(kHtmlRow, row_);
      events_.back().end = head_;
      data_ = false;
    }
  }
  void close_table() {
    close(table_);
    row_ = -1;
    head_ = false;
  }
  // The outermost pre, where it is in no table.
  void code(bool closing) {
    if (closing && pre_ == 0) close(code_);
    if (!closing && code_ < 0 && tables_ == 0) open_event(kHtmlCode, code_);
  }
  // A row of header cells only is a header.
  void cell(bool data, bool closing) {
    if (closing || tables_ != 1 || row_ < 0) return;
    data_ |= data;
    events_[static_cast<size_t>(row_)].end = head_ || !data_;
  }

  const std::vector<std::string>& section_tags_;
  std::string& out_;
  std::vector<HtmlEvent>& events_;
  size_t settled_ = 0;                                        // events before this one have their start
  int64_t heading_ = -1, table_ = -1, row_ = -1, code_ = -1;  // the open ones among the events
  int breaks_ = 0, pre_ = 0, tables_ = 0;
  int cells_ = 0;  // of the row, that ended since the last text: as many tabs
  bool waiting_ = false, space_ = false;
  bool new_row_ = false;              // a row began since the last text
  bool head_ = false, data_ = false;  // in a thead; the row has a data cell
  bool broken_ = false;               // the text so far ends with a line break of its own: no space follows
};

}  // namespace rc::html
