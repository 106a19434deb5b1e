// Reads a page as the HTML standard says (13.2, "Parsing HTML documents"), as far as a stack of open elements goes.
// Elements that neither break lines nor begin sections are not put on the stack (inside of what is left out they are,
// to find its end). Wherever that, or the lack of a tree, could make a difference, the page is given up.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "structure/html.h"
#include "structure/html_render.h"

namespace rc {
namespace {

using html::is_letter;
using html::is_space;

enum class Kind : uint8_t {
  plain,       // span and the like, and names that are not known
  formatting,  // b and the like: misnested ones do not close what is around them
  empty,       // no content, no effect
  br,
  hr,
  img,
  block,
  heading,
  p,
  pre,
  li,
  description,  // dt, dd
  form,
  button,
  marker,  // ends scopes
  table,
  caption,
  columns,   // col, colgroup
  rows,      // tbody, thead, tfoot
  row,       // tr
  cell,      // td, th
  page,      // html, body
  head,      // head
  raw,       // text up to its end tag
  textarea,  // the same, shown
  noscript,
  template_,
  select,
  option,
  legend,
  svg,
  unknown,  // not read here: the page is given up
};

constexpr uint8_t kLeftOut = 1, kInHead = 2;

struct Tag {
  Kind kind = Kind::plain;
  uint8_t flags = 0;
};

const std::unordered_map<std::string_view, Tag>& tags() {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string_view, Tag>;
    const auto add = [&](Kind kind, uint8_t flags, std::initializer_list<const char*> names) {
      for (const char* name : names) (*t)[name] = {kind, flags};
    };
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
    (*t)["br"] = {Kind::br, 0};
    (*t)["hr"] = {Kind::hr, 0};
    (*t)["img"] = {Kind::img, 0};
    (*t)["p"] = {Kind::p, 0};
    (*t)["li"] = {Kind::li, 0};
    (*t)["form"] = {Kind::form, 0};
    (*t)["button"] = {Kind::button, 0};
    (*t)["table"] = {Kind::table, 0};
    (*t)["caption"] = {Kind::caption, 0};
    (*t)["tr"] = {Kind::row, 0};
    (*t)["head"] = {Kind::head, kInHead};
    (*t)["textarea"] = {Kind::textarea, 0};
    (*t)["noscript"] = {Kind::noscript, kLeftOut | kInHead};
    (*t)["template"] = {Kind::template_, kLeftOut | kInHead};
    (*t)["select"] = {Kind::select, 0};
    (*t)["legend"] = {Kind::legend, 0};
    (*t)["svg"] = {Kind::svg, kLeftOut};
    return t;
  }();
  return *table;
}

constexpr size_t kMaxOpen =
    256;  // elements open at once, so that looking through them takes no more than constant time

bool is_table_part(Kind kind) { return kind == Kind::table || kind == Kind::rows || kind == Kind::row; }

// `what` in lower case.
bool contains_any_case(std::string_view text, std::string_view what) {
  return std::search(text.begin(), text.end(), what.begin(), what.end(),
                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; }) != text.end();
}

bool equals_any_case(std::string_view text, std::string_view what) {
  return text.size() == what.size() && contains_any_case(text, what);
}

// Whether the declarations of a style attribute hide the element; the last of each property counts.
bool hides(std::string_view style) {
  bool displayed = true, visible = true;
  while (!style.empty()) {
    const std::string_view declaration = style.substr(0, style.find(';'));
    style.remove_prefix(std::min(declaration.size() + 1, style.size()));
    const size_t colon = declaration.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = html::trimmed(declaration.substr(0, colon)), rest = declaration.substr(colon + 1);
    const std::string_view value = html::trimmed(rest.substr(0, rest.find('!')));
    if (equals_any_case(name, "display")) displayed = !equals_any_case(value, "none");
    if (equals_any_case(name, "visibility")) visible = !equals_any_case(value, "hidden");
  }
  return !displayed || !visible;
}

class Page {
 public:
  Page(std::string_view html, const HtmlEntities& entities, const std::vector<std::string>& section_tags,
       HtmlText& result)
      : html_(html), entities_(entities), out_(section_tags, result) {}

  // False: given up.
  bool read() {
    if (html_.find('\0') != std::string_view::npos) return false;
    while (at_ < html_.size() && !given_up_) {
      if (html_[at_] != '<') {
        const size_t next = std::min(html_.find('<', at_), html_.size());
        text(html_.substr(at_, next - at_));
        at_ = next;
      } else {
        markup();
      }
    }
    while (!open_.empty()) pop();
    out_.finish();
    return !given_up_;
  }

 private:
  struct Element {
    Kind kind;
    std::string_view name;
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // ---- the tokenizer

  char peek(size_t offset) const { return at_ + offset < html_.size() ? html_[at_ + offset] : '\0'; }

  void markup() {
    if (is_letter(peek(1))) return tag(false);
    if (peek(1) == '/') {
      if (is_letter(peek(2))) return tag(true);
      if (at_ + 2 >= html_.size()) return text_to(html_.size());
      after_pre_ &= peek(2) == '>';
      return skip_to('>');
    }
    if (peek(1) == '!') return declaration();
    if (peek(1) == '?') {
      after_pre_ = false;
      return skip_to('>');
    }
    text_to(at_ + 1);
  }
  void text_to(size_t end) {
    text(html_.substr(at_, end - at_));
    at_ = end;
  }
  void skip_to(char mark) {
    const size_t end = html_.find(mark, at_);
    at_ = end == std::string_view::npos ? html_.size() : end + 1;
  }
  void declaration() {
    after_pre_ = false;
    if (html_.compare(at_, 4, "<!--") == 0) return comment();
    const size_t begin = at_;
    skip_to('>');
    const std::string_view text = html_.substr(begin, at_ - begin);
    if (text.compare(0, 3, "<![") == 0 && !drawing_.empty()) given_up_ = true;
    if (contains_any_case(text.substr(0, 9), "<!doctype"))
      standards_ = (text.size() == 15 && contains_any_case(text, "<!doctype html>")) ||
                   contains_any_case(text, "\"-//w3c//dtd xhtml 1.");
  }
  void comment() {
    size_t p = at_ + 4;
    if (peek(4) == '>' || (peek(4) == '-' && peek(5) == '>')) return skip_to('>');
    for (p = html_.find("--", p); p != std::string_view::npos; p = html_.find("--", p + 1)) {
      const size_t after = p + 2;
      if (after < html_.size() && html_[after] == '>') {
        at_ = after + 1;
        return;
      }
      if (html_.compare(after, 2, "!>") == 0) {
        at_ = after + 2;
        return;
      }
    }
    at_ = html_.size();
  }

  // What this reader needs to know of a tag.
  struct Attributes {
    bool hidden = false;
    std::string_view alt;
    bool has_alt = false, has_aria = false, has_style = false, closes_itself = false;
  };

  void tag(bool closing) {
    size_t p = at_ + 1 + closing;
    const size_t name_begin = p;
    bool upper = false;
    while (p < html_.size() && !is_space(html_[p]) && html_[p] != '/' && html_[p] != '>') {
      upper |= html_[p] >= 'A' && html_[p] <= 'Z';
      p++;
    }
    std::string_view name = html_.substr(name_begin, p - name_begin);
    Attributes attributes;
    if (p < html_.size() && html_[p] == '>')
      p++;
    else
      p = read_attributes(p, attributes);
    if (p == kNone) {  // the page ends inside of the tag
      at_ = html_.size();
      return;
    }
    at_ = p;
    if (upper) {
      if (name.size() > sizeof lower_) {
        given_up_ = true;
        return;
      }
      std::transform(name.begin(), name.end(), lower_,
                     [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
      name = {lower_, name.size()};
    }
    const auto found = tags().find(name);
    // The table's name stays; one in lower_ does not.
    const Tag tag = found == tags().end() ? Tag{} : found->second;
    if (found != tags().end())
      name = found->first;
    else if (upper && (left_out_ != kNone || attributes.hidden)) {
      given_up_ = true;
      return;
    }
    if (!drawing_.empty()) {
      foreign(tag, name, closing, attributes);
    } else if (closing) {
      end(tag.kind, name);
    } else {
      start(tag, name, attributes);
    }
  }

  size_t read_attributes(size_t p, Attributes& found) {
    for (;;) {
      const size_t gap = p;
      while (p < html_.size() && (is_space(html_[p]) || html_[p] == '/')) p++;
      if (p >= html_.size()) return kNone;
      if (html_[p] == '>') {
        found.closes_itself = p > gap && html_[p - 1] == '/';
        return p + 1;
      }
      const size_t name = p++;
      while (p < html_.size() && !is_space(html_[p]) && html_[p] != '/' && html_[p] != '>' && html_[p] != '=') p++;
      const size_t name_end = p;
      while (p < html_.size() && is_space(html_[p])) p++;
      std::string_view value;
      if (p < html_.size() && html_[p] == '=') {
        p++;
        while (p < html_.size() && is_space(html_[p])) p++;
        if (p >= html_.size()) return kNone;
        if (html_[p] == '"' || html_[p] == '\'') {
          const size_t end = html_.find(html_[p], p + 1);
          if (end == std::string_view::npos) return kNone;
          value = html_.substr(p + 1, end - p - 1);
          p = end + 1;
        } else if (html_[p] != '>') {
          const size_t begin = p;
          while (p < html_.size() && !is_space(html_[p]) && html_[p] != '>') p++;
          value = html_.substr(begin, p - begin);
        }
      }
      attribute(html_.substr(name, name_end - name), value, found);
    }
  }

  void attribute(std::string_view name, std::string_view value, Attributes& found) {
    const auto is = [name](std::string_view what) { return equals_any_case(name, what); };
    if (is("alt")) {
      if (!found.has_alt) found.alt = value;
      found.has_alt = true;
    } else if (is("hidden")) {
      found.hidden = true;
    } else if (is("aria-hidden")) {
      if (!std::exchange(found.has_aria, true)) found.hidden |= value == "true";
    } else if (is("style")) {
      if (value.find('&') != std::string_view::npos) given_up_ = true;
      if (!std::exchange(found.has_style, true)) found.hidden |= hides(value);
    }
  }

  // The text with line breaks as \n and character references decoded.
  std::string_view decoded(std::string_view text, bool in_attribute) {
    if (text.find_first_of("&\r") == std::string_view::npos) return text;
    decoded_.clear();
    for (size_t i = 0; i < text.size();) {
      if (text[i] == '\r') {
        decoded_ += '\n';
        i += 1 + (text.compare(i, 2, "\r\n") == 0);
      } else if (text[i] == '&') {
        i = entities_.append(text, i, in_attribute, decoded_);
      } else {
        const size_t next = std::min(text.find_first_of("&\r", i), text.size());
        decoded_.append(text, i, next - i);
        i = next;
      }
    }
    return decoded_;
  }

  // ---- text and elements

  bool shown() const { return left_out_ == kNone && drawing_.empty(); }
  bool in_table() const { return !open_.empty() && is_table_part(open_.back().kind); }

  void text(std::string_view text) {
    if (templates_ > 0 || !drawing_.empty()) return;
    const std::string_view characters = head_ ? decoded(text, false) : text;
    const bool blank = std::all_of(characters.begin(), characters.end(), is_space);
    const bool first = std::exchange(after_pre_, false);
    if (!blank) {
      if (in_table() || (head_ && left_out_ != kNone)) given_up_ = true;  // the tree has it elsewhere
      head_ = false;
    }
    if (!shown()) return;
    text = decoded(text, false);
    if (first && text[0] == '\n') text.remove_prefix(1);
    out_.text(text);
  }

  void push(Kind kind, std::string_view name, bool left_out) {
    if (open_.size() >= kMaxOpen) given_up_ = true;
    if (left_out && left_out_ == kNone) {
      left_out_ = open_.size();
      inline_.clear();
    }
    open_.push_back({kind, name});
    if (left_out_ == kNone) out_.tag(name, false);
  }
  void pop() {
    const Element element = open_.back();
    open_.pop_back();
    if (left_out_ == kNone)
      out_.tag(element.name, true);
    else if (left_out_ == open_.size())
      left_out_ = kNone;
  }
  void pop_to(size_t at) {
    while (open_.size() > at) pop();
  }
  template <class Wanted, class Barrier>
  size_t find(Wanted wanted, Barrier barrier) const {
    for (size_t i = open_.size(); i-- > 0;) {
      if (wanted(open_[i])) return i;
      if (barrier(open_[i].kind)) return kNone;
    }
    return kNone;
  }
  static bool ends_scope(Kind kind) {
    return kind == Kind::marker || kind == Kind::caption || kind == Kind::table || kind == Kind::cell ||
           kind == Kind::template_ || kind == Kind::select;
  }
  size_t p_in_scope() const {
    return find([](const Element& e) { return e.kind == Kind::p; },
                [](Kind kind) { return ends_scope(kind) || kind == Kind::button; });
  }
  void close_p() {
    const size_t at = p_in_scope();
    if (at != kNone) pop_to(at);
  }
  // Closes the innermost element of this name in scope.
  void close_named(std::string_view name, bool list = false) {
    const size_t at = find([name](const Element& e) { return e.name == name; },
                           [list](Kind kind) { return ends_scope(kind) || (list && kind == Kind::block); });
    if (at != kNone) pop_to(at);
  }

  void start(Tag tag, std::string_view name, const Attributes& attributes) {
    after_pre_ = false;
    const Kind kind = tag.kind;
    if (templates_ > 0) {  // everything goes; only its end counts
      templates_ += kind == Kind::template_;
      if (kind == Kind::raw || kind == Kind::textarea) raw(name, false);
      if (kind == Kind::svg || kind == Kind::unknown) given_up_ = true;
      return;
    }
    if (head_) {
      const bool fits = tag.flags & kInHead;
      if (left_out_ != kNone && !(kind == Kind::empty && fits) && name != "style") given_up_ = true;
      head_ = fits;
    }
    if (!open_.empty() && open_.back().kind == Kind::select && kind != Kind::option) given_up_ = true;
    const bool left_out = attributes.hidden || (tag.flags & kLeftOut);
    switch (kind) {
      case Kind::raw: raw(name, false); return;
      case Kind::template_: templates_ = 1; return;
      case Kind::caption:
      case Kind::columns:
      case Kind::rows:
      case Kind::row:
      case Kind::cell: return table_part(kind, name, left_out);
      case Kind::empty: return;
      case Kind::head: return;
      case Kind::page:
        if (attributes.hidden) given_up_ = true;
        return;
      default: break;
    }
    if (in_table()) {
      given_up_ = true;
      return;
    }
    switch (kind) {
      case Kind::plain:
        begin_inline(name);
        if (left_out || left_out_ != kNone) push(kind, name, left_out);
        return;
      case Kind::formatting:
        // A hidden one may hide more than what is in it; a link in a link closes what is around it.
        if (attributes.hidden || name == "nobr") given_up_ = true;
        if (name == "a") {
          if (in_link_ && inline_base()) given_up_ = true;
          in_link_ = true;
        }
        begin_inline(name);
        return;
      case Kind::br:
        if (shown() && !attributes.hidden) out_.tag(name, false);
        return;
      case Kind::hr:
        close_p();
        if (shown() && !attributes.hidden) out_.tag(name, false);
        return;
      case Kind::img:
        if (shown() && !attributes.hidden) out_.image(decoded(attributes.alt, true));
        return;
      case Kind::heading:
        close_p();
        if (find([](const Element& e) { return e.kind == Kind::heading; }, ends_scope) != kNone) given_up_ = true;
        break;
      case Kind::li:
      case Kind::description: {
        for (size_t i = open_.size(); i-- > 0;) {
          const Element& e = open_[i];
          if (e.kind == kind) {
            pop_to(i);
            break;
          }
          const bool passes = e.kind == Kind::plain || e.kind == Kind::legend || e.kind == Kind::p ||
                              e.name == "address" || e.name == "div";
          if (!passes) break;
        }
        close_p();
        break;
      }
      case Kind::form:
        if (form_) return;
        close_p();
        form_ = true;
        form_balance_ = balance_;
        break;
      case Kind::button: {
        const size_t at = find([](const Element& e) { return e.kind == Kind::button; }, ends_scope);
        if (at != kNone) pop_to(at);
        break;
      }
      case Kind::table:
        if (p_in_scope() != kNone) {
          if (!standards_) given_up_ = true;
          close_p();
        }
        break;
      case Kind::block:
      case Kind::p:
      case Kind::pre: close_p(); break;
      case Kind::marker:
      case Kind::noscript: break;
      case Kind::select: option_ = group_ = false; break;
      case Kind::textarea:
        push(kind, name, left_out);
        raw(name, shown());
        pop();
        return;
      case Kind::option:
        if (left_out_ != kNone) return;
        if (open_.empty() || open_.back().kind != Kind::select || attributes.hidden) given_up_ = true;
        (name == "option" ? option_ : group_) = true;
        if (name != "option") option_ = false;
        out_.tag(name, false);
        return;
      case Kind::legend:
        inline_.clear();
        return push(left_out || left_out_ != kNone ? Kind::plain : kind, name, left_out);
      case Kind::svg:
        if (!attributes.closes_itself) drawing_.emplace_back(name);
        return;
      default: given_up_ = true; return;
    }
    push(kind, name, left_out);
    after_pre_ = kind == Kind::pre;
  }

  // ---- tables

  void table_part(Kind kind, std::string_view name, bool left_out) {
    const auto part = [](const Element& e) {
      return is_table_part(e.kind) || e.kind == Kind::cell || e.kind == Kind::caption;
    };
    const auto none = [](Kind) { return false; };
    size_t at = find(part, none);
    if (at == kNone) return;  // outside of a table, the tag is passed over
    if (open_[at].kind == Kind::cell || open_[at].kind == Kind::caption) {
      pop_to(at);
      at = find(part, none);
      if (at == kNone) return;
    }
    if (kind == Kind::cell) {
      if (open_[at].kind == Kind::table) push(Kind::rows, "tbody", false), at++;
      if (open_[at].kind == Kind::rows) push(Kind::row, "tr", false);
      return push(kind, name, left_out);
    }
    if (open_[at].kind == Kind::row) pop_to(at--);
    if (kind == Kind::row) {
      if (open_[at].kind == Kind::table) push(Kind::rows, "tbody", false);
      return push(kind, name, left_out);
    }
    if (open_[at].kind == Kind::rows) pop_to(at);
    if (kind != Kind::columns) push(kind, name, left_out);
  }

  // ---- end tags

  void end(Kind kind, std::string_view name) {
    after_pre_ = false;
    if (templates_ > 0) {
      templates_ -= kind == Kind::template_;
      return;
    }
    if (!open_.empty() && open_.back().kind == Kind::select && kind != Kind::select && kind != Kind::option)
      given_up_ = true;
    switch (kind) {
      case Kind::head:
        if (left_out_ != kNone) given_up_ = true;
        head_ = false;
        return;
      case Kind::page:
        if (head_) given_up_ = true;
        return;
      case Kind::plain:
        if (left_out_ == kNone) return end_inline(name);
        balance_--;
        return end_plain(name);
      case Kind::formatting:
        if (name == "a") in_link_ = false;
        return end_inline(name);
      case Kind::br:
        if (in_table()) given_up_ = true;
        if (shown()) out_.tag(name, false);
        return;
      case Kind::p: {
        const size_t at = p_in_scope();
        if (at != kNone) return pop_to(at);
        if (in_table()) given_up_ = true;
        if (shown()) out_.tag(name, true);
        return;
      }
      case Kind::heading: {
        const size_t at = find([](const Element& e) { return e.kind == Kind::heading; }, ends_scope);
        if (at != kNone) pop_to(at);
        return;
      }
      case Kind::form: {
        if (!form_) return;
        form_ = false;
        const size_t at = find([](const Element& e) { return e.kind == Kind::form; }, ends_scope);
        if (at == kNone) return;
        if (balance_ != form_balance_) given_up_ = true;
        for (size_t i = at + 1; i < open_.size(); i++) {  // only what ends by itself may be open in it
          const Kind inner = open_[i].kind;
          if (inner != Kind::p && inner != Kind::li && inner != Kind::description) given_up_ = true;
        }
        return pop_to(at);
      }
      case Kind::li: {
        const auto list = [](Kind k) { return ends_scope(k); };
        const size_t at =
            find([](const Element& e) { return e.kind == Kind::li || e.name == "ol" || e.name == "ul"; }, list);
        if (at != kNone && open_[at].kind == Kind::li) pop_to(at);
        return;
      }
      case Kind::legend:
        if (left_out_ != kNone) return end_plain(name);
        if (!open_.empty() && open_.back().kind == kind) pop();
        return;
      case Kind::option:
        if (shown() && !open_.empty() && open_.back().kind == Kind::select && (name == "option" ? option_ : group_))
          out_.tag(name, true);
        option_ = false;
        group_ &= name == "option";
        return;
      case Kind::table:
      case Kind::rows:
      case Kind::row:
      case Kind::cell:
      case Kind::caption: {
        const size_t at =
            find([name](const Element& e) { return e.name == name; }, [](Kind k) { return k == Kind::table; });
        if (at != kNone) pop_to(at);
        return;
      }
      case Kind::block:
      case Kind::description:
      case Kind::pre:
      case Kind::button:
      case Kind::marker:
      case Kind::select: {
        const size_t at = find([name](const Element& e) { return e.name == name; },
                               [kind](Kind k) { return ends_scope(k) && k != kind; });
        if (at != kNone) pop_to(at);
        return;
      }
      case Kind::noscript: {
        const size_t at = find([](const Element& e) { return e.kind == Kind::noscript; }, [](Kind) { return false; });
        if (at == kNone) return;
        if (at + 1 < open_.size()) given_up_ = true;
        return pop_to(at);
      }
      default: return;
    }
  }

  // Whether the end tag of an element that began before it could close what is on the stack: inside of an inline
  // element that is left out, or a legend.
  bool inline_base() const {
    return left_out_ != kNone ? open_[left_out_].kind == Kind::plain
                              : !open_.empty() && open_.back().kind == Kind::legend;
  }
  void begin_inline(std::string_view name) {
    balance_++;
    if (!inline_base()) return;
    inline_.emplace_back(name);
    if (inline_.size() > kMaxOpen) given_up_ = true;
  }
  void end_inline(std::string_view name) {
    balance_--;
    if (!inline_base()) return;
    const auto begun = std::find(inline_.rbegin(), inline_.rend(), name);
    if (begun == inline_.rend())
      given_up_ = true;
    else
      inline_.erase(std::next(begun).base());
  }

  // Elements that are on the stack only inside of what is left out.
  void end_plain(std::string_view name) {
    for (size_t i = open_.size(); i-- > left_out_;) {
      if (open_[i].name == name) return pop_to(i);
      if (open_[i].kind != Kind::plain) return;
    }
    given_up_ = true;
  }

  // ---- text that is no markup, and drawings

  // Goes past the element's text and end tag; its text is shown, or not.
  void raw(std::string_view name, bool show) {
    const size_t begin = at_;
    size_t end = begin;
    for (;; end++) {
      end = html_.find("</", end);
      if (end == std::string_view::npos) {
        at_ = end = html_.size();
        break;
      }
      const size_t after = end + 2 + name.size();
      if (after >= html_.size()) continue;
      if (!contains_any_case(html_.substr(end + 2, name.size()), name)) continue;
      if (!is_space(html_[after]) && html_[after] != '>' && html_[after] != '/') continue;
      Attributes none;
      const size_t next = html_[after] == '>' ? after + 1 : read_attributes(after, none);
      at_ = next == kNone ? html_.size() : next;
      break;
    }
    std::string_view text = html_.substr(begin, end - begin);
    if (name == "script" && text.find("<!--") != std::string_view::npos && contains_any_case(text, "<script"))
      given_up_ = true;
    if (!show) return;
    text = decoded(text, false);
    if (!text.empty() && text[0] == '\n') text.remove_prefix(1);
    out_.text(text);
  }

  // Inside of svg: its own elements only. A tag of a page ends the drawing.
  void foreign(Tag tag, std::string_view name, bool closing, const Attributes& attributes) {
    const bool own = name == "a" || name == "title" || name == "style" || name == "script";
    if (tag.kind != Kind::svg && !own && (tag.kind != Kind::plain || tag.flags || is_html(name)))
      given_up_ = true;
    else if (closing && drawing_.back() != name)
      given_up_ = true;
    else if (closing)
      drawing_.pop_back();
    else if (!attributes.closes_itself)
      drawing_.emplace_back(name);
    if (drawing_.size() > kMaxOpen) given_up_ = true;
  }
  static bool is_html(std::string_view name) {
    static const char* const names[] = {"span", "sub", "sup", "var", "ruby", "desc", "foreignobject"};
    return std::any_of(std::begin(names), std::end(names), [name](const char* n) { return name == n; });
  }

  const std::string_view html_;
  const HtmlEntities& entities_;
  html::Renderer out_;
  size_t at_ = 0;
  std::vector<Element> open_;
  size_t left_out_ = kNone;           // the element on the stack that is not shown
  std::vector<std::string> inline_;   // inline elements open in it, or in a legend
  std::vector<std::string> drawing_;  // elements open in an svg, itself included
  int64_t templates_ = 0;
  int64_t balance_ = 0, form_balance_ = 0;  // inline elements that began, less those that ended; when the form began
  bool option_ = false, group_ = false;
  bool given_up_ = false, form_ = false, head_ = true, in_link_ = false;
  bool standards_ = false;  // the page says that it is not of before 1998, where paragraphs could hold tables
  bool after_pre_ = false;
  char lower_[24];
  std::string decoded_;
};

}  // namespace

bool html_page(std::string_view html, const HtmlEntities& entities, const std::vector<std::string>& section_tags,
               HtmlText& result) {
  result.text.reserve(html.size() / 2);
  return Page(html, entities, section_tags, result).read();
}

}  // namespace rc
