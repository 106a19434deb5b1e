// Tags and text in the order of a page -> the text that a browser would show, and the events of html.h.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "structure/html.h"
#include "structure/html_scan.h"
#include "structure/html_tags.h"

namespace rc::html {

inline bool is_space(char c) {
  // A bit for each of \t \n \f \r and the space.
  return static_cast<uint8_t>(c) <= ' ' && (0x100003600ull >> c & 1);
}
inline bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

class Renderer {
 public:
  // `size` is that of the page.
  Renderer(const std::vector<std::string>& section_tags, size_t size, HtmlText& result)
      : out_(result.text), events_(result.events), collapse_(RC_PICK(html_collapse)) {
    for (const std::string& name : section_tags) {
      const Tag* tag = find_tag(name);
      if (tag)
        is_section_[tag->number] = true;
      else
        other_sections_.push_back(name);
    }
    events_.clear();
    out_.clear();
    out_.reserve(size + kHtmlRoom);
  }

  // Text with its entities decoded. `readable` bytes of it, and what follows, may be read.
  void text(std::string_view text, size_t readable) {
    if (text.empty()) return;
    if (pre_ > 0) {
      begin();
      put(text);
      broken_ = text.back() == '\n';
      return;
    }
    const std::string_view body = trimmed(text);
    if (body.empty()) {
      space_ |= !broken_;
      return;
    }
    space_ |= is_space(text.front()) && !broken_;
    begin();
    put_collapsed(body, readable - static_cast<size_t>(body.data() - text.data()));
    space_ = is_space(text.back());
    broken_ = false;
  }

  // A tag other than an image.
  void tag(std::string_view name, bool closing) {
    const Tag* known = find_tag(name);
    Tag other;
    other.name = name;
    tag(known ? *known : other, closing);
  }
  void tag(const Tag& tag, bool closing) {
    if (tag.breaks) {
      breaks_ = std::max<int>(breaks_, tag.breaks);
      cells_ = 0;
    }
    const Role role = tag.role;
    const bool section = tag.number > 0 ? is_section_[tag.number] : is_other_section(tag.name);
    if (role == Role::none && !section) return;
    switch (role) {
      case Role::br:
        if (closing) break;
        space_ = false;
        if (out_.size() > 0) {
          begin();
          put("\n");
          broken_ = true;
        }
        break;
      case Role::cell:
      case Role::header_cell:
        cells_ += closing && (breaks_ == 0 || new_row_);  // blocks in a cell are apart by breaks
        cell(role == Role::cell, closing);
        break;
      case Role::pre:
      case Role::textarea:
        pre_ = std::max(pre_ + (closing ? -1 : 1), 0);
        if (role == Role::pre) code(closing);
        break;
      default: break;
    }
    if (role == Role::heading) {
      close_heading();
      if (!closing) open_event(tag.level, heading_);
    } else if (section) {
      events_.push_back({closing ? size() : kWaiting, closing ? -1 : 0, 0});
      waiting_ |= !closing;
    } else if (role == Role::table || role == Role::head || role == Role::row) {
      new_row_ |= role == Role::row && !closing;
      table(role, closing);
    }
  }

  void image(std::string_view alt) {
    alt = trimmed(alt);
    if (alt.empty()) return;
    space_ = true;
    begin();
    put_collapsed(alt, alt.size());
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

  int64_t size() const { return static_cast<int64_t>(out_.size()); }

  void put(std::string_view text) { out_.add(text); }
  void put(int n, char c) {
    if (n <= 0) return;
    std::memset(out_.room(static_cast<size_t>(n)), c, static_cast<size_t>(n));
    out_.grow(static_cast<size_t>(n));
  }
  void put_collapsed(std::string_view text, size_t readable) {
    char* to = out_.room(text.size() + kHtmlRoom);
    out_.grow(static_cast<size_t>(
        collapse_(text.data(), static_cast<int64_t>(text.size()), static_cast<int64_t>(readable), to)));
  }

  bool is_other_section(std::string_view name) const {
    return !other_sections_.empty() &&
           std::find(other_sections_.begin(), other_sections_.end(), name) != other_sections_.end();
  }

  // Writes what stands between the text so far and the text to come.
  void begin() {
    if (out_.size() > 0) {
      put(breaks_, '\n');
      if (breaks_ + cells_ == 0 && space_) put(1, ' ');
    }
    settle();
    put(cells_, '\t');  // a row begins with its empty cells
    breaks_ = cells_ = 0;
    space_ = new_row_ = false;
  }

  void settle() {
    if (!waiting_) return;
    for (; settled_ < events_.size(); settled_++)
      if (events_[settled_].start == kWaiting) events_[settled_].start = size();
    waiting_ = false;
  }

  void close_heading() { close(heading_); }

  // Ends the heading, table or code at `number` among the events; one without text is none.
  void close(int64_t& number) {
    if (number < 0) return;
    HtmlEvent& event = events_[static_cast<size_t>(number)];
    if (event.start == kWaiting) {
      event = {size(), kNone, 0};
    } else {
      event.end = size();
    }
    number = -1;
  }

  // ---- tables: the outermost ones, their rows, and which rows are headers

  void open_event(int64_t level, int64_t& number) {
    number = static_cast<int64_t>(events_.size());
    events_.push_back({kWaiting, level, 0});
    waiting_ = true;
  }
  void table(Role role, bool closing) {
    if (role == Role::table) {
      if (closing && tables_ == 1) close_table();
      tables_ = std::max(tables_ + (closing ? -1 : 1), 0);
      if (!closing && tables_ == 1) {
        close(code_);
        open_event(kHtmlTable, table_);
      }
    } else if (tables_ == 1 && role == Role::head) {
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

  TextBuffer& out_;
  std::vector<HtmlEvent>& events_;
  decltype(RC_PICK(html_collapse)) collapse_;
  bool is_section_[256] = {};  // by the number of the tag
  std::vector<std::string> other_sections_;
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
