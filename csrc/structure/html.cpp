#include "structure/html.h"

#include <algorithm>
#include <unordered_map>

namespace rc {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// Line breaks that an element needs before and after it.
int breaks_of(std::string_view tag) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string_view, int>;
    for (const char* name : {"html",     "body",   "div",      "address",    "main",     "header", "footer",  "form",
                             "fieldset", "legend", "li",       "dt",         "dd",       "tr",     "caption", "thead",
                             "tbody",    "tfoot",  "summary",  "figcaption", "center",   "dir",    "menu",    "search",
                             "hgroup",   "option", "optgroup", "select",     "textarea", "dialog", "nav"})
      (*t)[name] = 1;
    for (const char* name : {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote",
                             "figure", "hr", "section", "article", "aside", "details"})
      (*t)[name] = 2;
    return t;
  }();
  const auto found = table->find(tag);
  return found == table->end() ? 0 : found->second;
}

// The five entities that serialisers write, without white space among them; a lone ampersand is itself.
size_t append_entity(std::string_view text, size_t at, std::string& out) {
  static constexpr std::pair<std::string_view, std::string_view> entities[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\xc2\xa0"}, {"&quot;", "\""}};
  for (const auto& [name, character] : entities) {
    if (text.compare(at, name.size(), name) != 0) continue;
    out += character;
    return at + name.size();
  }
  out += '&';
  return at + 1;
}

void append_decoded(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    const size_t next = std::min(text.find('&', i), text.size());
    out.append(text, i, next - i);
    i = next < text.size() ? append_entity(text, next, out) : next;
  }
}

// Runs of white space as one space, none at the ends; entities decoded.
void append_collapsed(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      while (i < text.size() && is_space(text[i])) i++;
      if (i < text.size()) out += ' ';
    } else if (text[i] == '&') {
      i = append_entity(text, i, out);
    } else {
      size_t j = i + 1;
      while (j < text.size() && !is_space(text[j]) && text[j] != '&') j++;
      out.append(text, i, j - i);
      i = j;
    }
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

class Renderer {
 public:
  Renderer(const std::vector<std::string>& section_tags, HtmlText& result)
      : section_tags_(section_tags), out_(result.text), events_(result.events) {}

  void text(std::string_view text) {
    if (pre_ > 0) {
      begin();
      append_decoded(text, out_);
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

  void tag(std::string_view name, bool closing, std::string_view attributes) {
    if (const int need = breaks_of(name)) {
      breaks_ = std::max(breaks_, need);
      cell_ = false;
    }
    if (name == "br" && !closing) {
      space_ = false;
      if (!out_.empty()) {
        begin();
        out_ += '\n';
        broken_ = true;
      }
    } else if (name == "td" || name == "th") {
      cell_ |= closing;
    } else if (name == "img") {
      image(attributes);
    }
    if (name == "pre" || name == "textarea") pre_ = std::max(pre_ + (closing ? -1 : 1), 0);
    if (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6') {
      close_heading();
      if (!closing) {
        heading_ = static_cast<int64_t>(events_.size());
        events_.push_back({kWaiting, name[1] - '0', 0});
        waiting_ = true;
      }
    } else if (std::find(section_tags_.begin(), section_tags_.end(), name) != section_tags_.end()) {
      events_.push_back({closing ? static_cast<int64_t>(out_.size()) : kWaiting, closing ? -1 : 0, 0});
      waiting_ |= !closing;
    }
  }

  void finish() {
    close_heading();
    settle();
    events_.erase(std::remove_if(events_.begin(), events_.end(), [](const HtmlEvent& e) { return e.level > 6; }),
                  events_.end());
  }

 private:
  static constexpr int64_t kWaiting = -1;  // begins with the next text
  static constexpr int64_t kNone = 7;      // a heading without text

  void image(std::string_view attributes) {
    for (size_t at = attributes.find("alt=\""); at != std::string_view::npos; at = attributes.find("alt=\"", at + 1)) {
      if (at == 0 || !is_space(attributes[at - 1])) continue;
      const size_t end = attributes.find('"', at + 5);
      if (end == std::string_view::npos) return;
      const std::string_view alt = trimmed(attributes.substr(at + 5, end - at - 5));
      if (alt.empty()) return;
      space_ = true;
      begin();
      append_collapsed(alt, out_);
      space_ = true;
      broken_ = false;
      return;
    }
  }

  // Writes what stands between the text so far and the text to come.
  void begin() {
    if (!out_.empty()) {
      if (breaks_ > 0) {
        out_.append(static_cast<size_t>(breaks_), '\n');
      } else if (cell_ || space_) {
        out_ += cell_ ? '\t' : ' ';
      }
    }
    breaks_ = 0;
    space_ = cell_ = false;
    settle();
  }

  void settle() {
    if (!waiting_) return;
    for (; settled_ < events_.size(); settled_++)
      if (events_[settled_].start == kWaiting) events_[settled_].start = static_cast<int64_t>(out_.size());
    waiting_ = false;
  }

  void close_heading() {
    if (heading_ < 0) return;
    HtmlEvent& event = events_[static_cast<size_t>(heading_)];
    if (event.start == kWaiting) {
      event = {static_cast<int64_t>(out_.size()), kNone, 0};
    } else {
      event.end = static_cast<int64_t>(out_.size());
    }
    heading_ = -1;
  }

  const std::vector<std::string>& section_tags_;
  std::string& out_;
  std::vector<HtmlEvent>& events_;
  size_t settled_ = 0;  // events before this one have their start
  int64_t heading_ = -1;
  int breaks_ = 0, pre_ = 0;
  bool waiting_ = false, space_ = false, cell_ = false;
  bool broken_ = false;  // the text so far ends with a line break of its own: no space follows
};

}  // namespace

HtmlText html_text(std::string_view html, const std::vector<std::string>& section_tags,
                   const std::vector<std::string>& drop_tags) {
  HtmlText result;
  result.text.reserve(html.size() / 2);
  Renderer renderer(section_tags, result);
  const size_t none = std::string_view::npos, size = html.size();
  std::string_view dropped;  // the element that is left out, if any, and how many of its name are open
  int64_t open = 0;
  bool comments_end = true;  // false: there is no further "-->"; not searched again, so that time stays linear
  for (size_t at = 0; at < size;) {
    if (html[at] != '<') {
      const size_t next = std::min(html.find('<', at), size);
      if (open == 0) renderer.text(html.substr(at, next - at));
      at = next;
      continue;
    }
    const bool closing = at + 1 < size && html[at + 1] == '/';
    const size_t name = at + 1 + closing;
    if (html.compare(at, 4, "<!--") == 0 && comments_end) {
      const size_t end = html.find("-->", at + 4);
      comments_end = end != none;
      if (comments_end) {
        at = end + 3;
        continue;
      }
    }
    if (name < size && !closing && (html[name] == '!' || html[name] == '?')) {
      const size_t end = html.find('>', name);
      at = end == none ? at + 1 : end + 1;
      continue;
    }
    if (name >= size || !is_letter(html[name])) {
      at++;
      continue;
    }
    size_t name_end = name;
    while (name_end < size && !is_space(html[name_end]) && html[name_end] != '/' && html[name_end] != '>') name_end++;
    size_t end = name_end;
    while (end < size && html[end] != '>') {
      if (html[end] == '"') end = std::min(html.find('"', end + 1), size - 1);
      end++;
    }
    if (end >= size) {
      at++;
      continue;
    }
    const std::string_view tag = html.substr(name, name_end - name);
    if (open > 0) {
      if (tag == dropped) open += closing ? -1 : 1;
    } else if (!closing && std::find(drop_tags.begin(), drop_tags.end(), tag) != drop_tags.end()) {
      dropped = tag;
      open = 1;
    } else {
      renderer.tag(tag, closing, html.substr(name_end, end - name_end));
    }
    at = end + 1;
  }
  renderer.finish();
  return result;
}

}  // namespace rc
