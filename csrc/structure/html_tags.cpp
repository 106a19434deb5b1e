#include "structure/html_tags.h"

#include <initializer_list>

namespace rc::html {
namespace {

// Names by a hash of their length and three of their characters, which is cheaper than to hash them all.
class Table {
 public:
  Table() {
    add(Kind::formatting, 0,
        {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"});
    add(Kind::empty, 0, {"area", "embed", "input", "keygen", "param", "source", "track", "wbr", "frame"});
    add(Kind::empty, kInHead, {"base", "basefont", "bgsound", "link", "meta"});
    add(Kind::block, 0, {"address", "article", "aside",    "blockquote", "center",     "details", "dialog", "dir",
                         "div",     "dl",      "fieldset", "figure",     "figcaption", "footer",  "header", "hgroup",
                         "main",    "menu",    "ol",       "search",     "section",    "summary", "ul"});
    add(Kind::block, kLeftOut, {"nav"});
    add(Kind::heading, 0, {"h1", "h2", "h3", "h4", "h5", "h6"});
    add(Kind::pre, 0, {"pre", "listing"});
    add(Kind::description, 0, {"dd", "dt"});
    add(Kind::marker, 0, {"applet", "marquee"});
    add(Kind::marker, kLeftOut, {"object"});
    add(Kind::plain, kLeftOut, {"canvas", "audio", "video", "datalist"});
    add(Kind::columns, 0, {"col", "colgroup"});
    add(Kind::rows, 0, {"tbody", "thead", "tfoot"});
    add(Kind::cell, 0, {"td", "th"});
    add(Kind::page, kInHead, {"html"});
    add(Kind::page, 0, {"body"});
    add(Kind::raw, kInHead, {"script", "style", "title", "noframes"});
    add(Kind::raw, 0, {"iframe", "noembed"});
    add(Kind::option, 0, {"option", "optgroup"});
    add(Kind::unknown, 0, {"math", "frameset", "plaintext", "xmp", "image", "isindex", "selectedcontent"});
    add(Kind::br, 0, {"br"});
    add(Kind::hr, 0, {"hr"});
    add(Kind::img, 0, {"img"});
    add(Kind::p, 0, {"p"});
    add(Kind::li, 0, {"li"});
    add(Kind::form, 0, {"form"});
    add(Kind::button, 0, {"button"});
    add(Kind::table, 0, {"table"});
    add(Kind::caption, 0, {"caption"});
    add(Kind::row, 0, {"tr"});
    add(Kind::head, kInHead, {"head"});
    add(Kind::textarea, 0, {"textarea"});
    add(Kind::noscript, kLeftOut | kInHead, {"noscript"});
    add(Kind::template_, kLeftOut | kInHead, {"template"});
    add(Kind::select, 0, {"select"});
    add(Kind::legend, 0, {"legend"});
    add(Kind::svg, kLeftOut, {"svg"});
    // HTML standard, "rendered text"; headings, lists and tables as paragraphs, because browsers put space around them.
    apart(1, {"html",     "body",   "div",      "address",    "main",     "header", "footer",  "form",
              "fieldset", "legend", "li",       "dt",         "dd",       "tr",     "caption", "thead",
              "tbody",    "tfoot",  "summary",  "figcaption", "center",   "dir",    "menu",    "search",
              "hgroup",   "option", "optgroup", "select",     "textarea", "dialog", "nav"});
    apart(2, {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "hr",
              "section", "article", "aside", "details"});
    is(Role::br, {"br"});
    is(Role::cell, {"td"});
    is(Role::header_cell, {"th"});
    is(Role::pre, {"pre"});
    is(Role::textarea, {"textarea"});
    is(Role::heading, {"h1", "h2", "h3", "h4", "h5", "h6"});
    is(Role::table, {"table"});
    is(Role::head, {"thead"});
    is(Role::row, {"tr"});
    uint8_t number = 0;
    for (Tag& tag : tags_) {
      if (tag.name.empty()) continue;
      tag.number = ++number;
      if (tag.role == Role::heading) tag.level = static_cast<uint8_t>(tag.name[1] - '0');
    }
  }

  const Tag* find(std::string_view name) const {
    for (size_t slot = first_slot(name);; ++slot) {
      const Tag& tag = tags_[slot % kSlots];
      if (tag.name == name) return &tag;
      if (tag.name.empty()) return nullptr;
    }
  }

 private:
  static constexpr size_t kSlots = 512;  // four times the names

  static size_t first_slot(std::string_view name) {
    if (name.empty()) return 0;
    const auto at = [name](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(name[i])); };
    return name.size() * 97 + at(0) * 31 + at(name.size() / 2) * 5 + at(name.size() - 1) * 13;
  }
  Tag& slot(std::string_view name) {
    size_t slot = first_slot(name);
    while (!tags_[slot % kSlots].name.empty() && tags_[slot % kSlots].name != name) ++slot;
    return tags_[slot % kSlots];
  }
  void add(Kind kind, uint8_t flags, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      slot(name).name = name;
      slot(name).kind = kind;
      slot(name).flags = flags;
    }
  }
  void is(Role role, std::initializer_list<const char*> names) {
    for (const char* name : names) slot(name).role = role;
  }
  void apart(uint8_t breaks, std::initializer_list<const char*> names) {
    for (const char* name : names) slot(name).breaks = breaks;
  }

  Tag tags_[kSlots];
};

}  // namespace

const Tag* find_tag(std::string_view name) {
  static const Table* const table = new Table;
  return name.empty() ? nullptr : table->find(name);
}

}  // namespace rc::html
