#include "structure/html_sections.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "core/utf8.h"

namespace rc {
namespace {

constexpr int64_t kDepth = 12;       // section elements nested deeper count as this deep, so that paths stay short
constexpr int64_t kBlankMost = 100;  // white space of so many characters is a section of its own

// Appends the text with runs of white space as one space, none at the ends.
void append_words(std::string_view text, std::string& out) {
  const auto size = static_cast<int64_t>(text.size());
  const size_t begin = out.size();
  for (int64_t at = skip_space(text.data(), 0, size); at < size;) {
    int64_t end = at;
    while (end < size) {
      const CodePoint c = decode(text.data(), size, end);
      if (is_space(c.value)) break;
      end += c.bytes;
    }
    if (out.size() > begin) out += ' ';
    out.append(text, static_cast<size_t>(at), static_cast<size_t>(end - at));
    at = skip_space(text.data(), end, size);
  }
}

class Sections {
 public:
  Sections(const HtmlText& page, HtmlSections& out) : text_(page.text.view()), events_(page.events), out_(out) {}

  void run() {
    for (const HtmlEvent& event : events_)
      if (event.level < kHtmlTable) move(event);
    if (size() > start_) add(size(), titles_, false);
  }

 private:
  struct Heading {
    int64_t depth, level, path;
  };

  int64_t size() const { return static_cast<int64_t>(text_.size()); }
  std::string_view part(int64_t start, int64_t end) const {
    return text_.substr(static_cast<size_t>(start), static_cast<size_t>(end - start));
  }
  int64_t path() const { return open_.empty() ? -1 : open_.back().path; }

  void move(const HtmlEvent& event) {
    if (event.level > 0) {
      const int64_t inside = std::min(depth_, kDepth);
      while (!open_.empty() && open_.back().depth == inside && open_.back().level >= event.level) open_.pop_back();
      open_.push_back({inside, event.level, titled(path(), {event.start, event.end})});
    } else if (event.level == 0) {
      depth_++;
    } else {
      depth_--;
      while (!open_.empty() && open_.back().depth > depth_) open_.pop_back();
    }
    const int64_t now = path();
    if (now == titles_ && event.level <= 0) return;
    const int64_t at = std::max(event.start, start_);  // never back, whatever the page
    if (at > start_ && !blank(start_, at)) add(at, titles_, false);
    start_ = at;
    titles_ = now;
    if (event.level > 0 && event.end > start_) {
      add(event.end, titles_, true);
      start_ = event.end;
    }
  }

  // The path with one more title; without it, if it is blank.
  int64_t titled(int64_t parent, Span title) {
    key_.assign(reinterpret_cast<const char*>(&parent), sizeof parent);
    append_words(part(title.start, title.end), key_);
    if (key_.size() == sizeof parent) return parent;
    const auto [found, is_new] = paths_.try_emplace(key_, static_cast<int64_t>(out_.path_parent.size()));
    if (is_new) {
      out_.path_parent.push_back(parent);
      out_.title.push_back(title);
    }
    return found->second;
  }

  // Whether only (a little) white space is there, as between two headings.
  bool blank(int64_t start, int64_t end) const {
    return skip_space(text_.data(), start, end) >= end &&
           count_code_points(text_.data() + start, end - start) < kBlankMost;
  }

  void add(int64_t end, int64_t path, bool bare) {
    out_.start.push_back(start_);
    out_.end.push_back(end);
    out_.path.push_back(path);
    out_.bare.push_back(bare);
    int64_t from = start_;
    for (; table_ < events_.size() && (!is_table(events_[table_]) || events_[table_].start < end); table_++) {
      const HtmlEvent& event = events_[table_];
      if (!is_table(event) || event.start < from || event.end > end) continue;
      add_table(event);
      from = event.end;
    }
    out_.tables.push_back(static_cast<int64_t>(out_.table_start.size()));
  }
  static bool is_table(const HtmlEvent& event) { return event.level == kHtmlTable || event.level == kHtmlCode; }

  // The table at `table_` among the events.
  void add_table(const HtmlEvent& table) {
    const std::string_view text = part(table.start, table.end);
    out_.table_start.push_back(table.start);
    out_.table_end.push_back(table.end);
    out_.loose.push_back(text.find("\n\n") != std::string_view::npos);
    int64_t head_end = -1;
    if (table.level == kHtmlCode) {
      for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at)) {
        at = std::min(text.find_first_not_of('\n', at), text.size());
        out_.row.push_back(table.start + static_cast<int64_t>(at));
      }
    } else {
      head_end = add_rows(table);
    }
    out_.head_end.push_back(head_end);
    out_.rows.push_back(static_cast<int64_t>(out_.row.size()));
  }

  // Pieces begin with a row after the first that is no header.
  int64_t add_rows(const HtmlEvent& table) {
    bool body = false, headed = false, first = true;
    int64_t begin = -1;
    // Where all rows are headers, none is.
    bool all = true;
    for (size_t i = table_ + 1; i < events_.size() && !is_table(events_[i]); i++)
      if (events_[i].level == kHtmlRow) all = all && events_[i].end != 0;
    for (size_t i = table_ + 1; i < events_.size() && !is_table(events_[i]); i++) {
      const HtmlEvent& row = events_[i];
      if (row.level != kHtmlRow) continue;
      body = body || all || row.end == 0;
      if (!body) {
        headed = true;
        continue;
      }
      if (row.start >= table.end) continue;
      if (first)
        begin = row.start;
      else if (out_.row.empty() || static_cast<int64_t>(out_.row.size()) == out_.rows.back() ||
               out_.row.back() != row.start)
        out_.row.push_back(row.start);
      first = false;
    }
    return headed && begin >= 0 ? trim_space(text_.data(), table.start, begin) : -1;
  }

  const std::string_view text_;
  const std::vector<HtmlEvent>& events_;
  HtmlSections& out_;
  std::vector<Heading> open_;
  std::unordered_map<std::string, int64_t> paths_;
  std::string key_;
  size_t table_ = 0;  // among the events
  int64_t depth_ = 0, start_ = 0, titles_ = -1;
};

}  // namespace

void html_sections(const HtmlText& page, HtmlSections& sections) { Sections(page, sections).run(); }

}  // namespace rc
