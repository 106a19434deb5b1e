// Any bytes through both readers of HTML: the text of valid UTF-8 is valid UTF-8, and events are places in it.
#include "fuzz.h"
#include "structure/html.h"
#include "structure/html_sections.h"

using fuzz::require;

namespace {

void check_sections(const rc::HtmlText& page) {
  rc::HtmlSections found;
  rc::html_sections(page, found);
  const auto size = static_cast<int64_t>(page.text.size()), paths = static_cast<int64_t>(found.path_parent.size());
  require(found.tables.size() == found.start.size() + 1, "tables of each section");
  require(found.rows.size() == found.table_start.size() + 1, "rows of each table");
  for (int64_t p = 0; p < paths; p++) require(found.path_parent[p] < p, "parents come first");
  int64_t before = 0;
  for (size_t s = 0; s < found.start.size(); s++) {
    require(before <= found.start[s] && found.start[s] < found.end[s] && found.end[s] <= size, "sections in order");
    require(found.path[s] >= -1 && found.path[s] < paths, "a section's path");
    int64_t table_before = found.start[s];
    for (int64_t t = found.tables[s]; t < found.tables[s + 1]; t++) {
      require(table_before <= found.table_start[t] && found.table_start[t] < found.table_end[t], "tables in order");
      require(found.table_end[t] <= found.end[s], "tables inside of their section");
      require(found.head_end[t] < found.table_end[t], "header rows inside of the table");
      table_before = found.table_end[t];
      int64_t row_before = found.table_start[t];
      for (int64_t r = found.rows[t]; r < found.rows[t + 1]; row_before = found.row[r++])
        require(row_before <= found.row[r] && found.row[r] <= found.table_end[t], "rows in order");
    }
    before = found.end[s];
  }
}

void check(const rc::HtmlText& found, bool valid) {
  const auto size = static_cast<int64_t>(found.text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(found.text.data());
  if (valid) require(fuzz::valid_utf8(bytes, found.text.size()) == found.text.view(), "valid UTF-8");
  for (const rc::HtmlEvent& event : found.events) {
    require(0 <= event.start && event.start <= size, "events in the text");
    require(-1 <= event.level && event.level <= rc::kHtmlCode, "kinds of events");
    if (event.level == rc::kHtmlRow)
      require(event.end == 0 || event.end == 1, "a row is a header or not");
    else if (event.level > 0)
      require(event.start < event.end && event.end <= size, "spans in the text, none empty");
  }
  check_sections(found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const rc::HtmlEntities entities = [] {
    rc::HtmlEntities names;
    for (const auto& [name, characters] : {std::pair{"amp;", "&"}, {"amp", "&"}, {"lt;", "<"}, {"nbsp;", "\xc2\xa0"}})
      names.add(name, characters);
    return names;
  }();
  const fuzz::Copy copy({reinterpret_cast<const char*>(data) + 1, size - 1});
  const bool valid = fuzz::valid_utf8(data + 1, size - 1) == copy.view();
  const std::vector<std::string> sections =
      data[0] & 1 ? std::vector<std::string>{"section", "div"} : std::vector<std::string>{};
  rc::HtmlText page;
  if (rc::html_page(copy.view(), entities, sections, page)) {
    check(page, valid);
    int64_t open = 0;
    for (const rc::HtmlEvent& event : page.events) {
      open += event.level == 0 ? 1 : event.level == -1 ? -1 : 0;
      require(open >= 0, "section elements begin before they end");
    }
    require(open == 0, "section elements end");
  }
  check(rc::html_text(copy.view(), sections, {"nav", "head"}), valid);
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  std::vector<std::string> pieces = {"a",
                                     " ",
                                     "\n",
                                     "b c ",
                                     "&amp;",
                                     "&#x20ac;",
                                     "&#0;",
                                     "&lt",
                                     "&",
                                     "<",
                                     ">",
                                     "\"",
                                     "<!--",
                                     "-->",
                                     "<!x>",
                                     "<?p ?>",
                                     "</>",
                                     "\r\n",
                                     "\xc3\xa9",
                                     "\xff",
                                     "<P ",
                                     "<!doctype html>",
                                     "<p hidden>",
                                     "<td style='display:none'>",
                                     "<img alt='x &amp; y'>",
                                     "<b style=\"",
                                     "<svg/>",
                                     "</"};
  for (const char* name : {"p",    "div",   "h1",     "h2",     "section",  "pre",      "ul",     "li",     "table",
                           "tr",   "td",    "th",     "thead",  "caption",  "b",        "a",      "br",     "textarea",
                           "form", "nav",   "script", "select", "option",   "template", "legend", "svg",    "button",
                           "dd",   "title", "head",   "body",   "noscript", "details",  "math",   "object", "x-y"}) {
    pieces.push_back(std::string("<") + name + ">");
    pieces.push_back(std::string("</") + name + ">");
  }
  return fuzz::drive(argc, argv, pieces);
}
#endif
