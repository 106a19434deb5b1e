// Reads a page as the HTML standard says (13.2, "Parsing HTML documents"), as far as a stack of open elements goes.
// Elements that neither break lines nor begin sections are not put on the stack (inside of what is left out they are,
// to find its end). Wherever that, or the lack of a tree, could make a difference, the page is given up.
#include <algorithm>
#include <utility>

#include "structure/html.h"
#include "structure/html_render.h"
#include "structure/html_tags.h"
#include "structure/html_tokenizer.h"

namespace rc {
namespace {

using html::Attributes;
using html::is_space;
using html::Kind;
using html::kInHead;
using html::kLeftOut;
using html::Tag;
using html::Tokenizer;

// Elements open at once, so that looking through them takes no more than constant time.
constexpr size_t kMaxOpen = 256, kMaxFormatting = 64;

constexpr uint64_t bit(Kind kind) { return uint64_t{1} << static_cast<int>(kind); }

bool is_table_part(Kind kind) { return (bit(Kind::table) | bit(Kind::rows) | bit(Kind::row)) & bit(kind); }

class Page {
 public:
  Page(std::string_view html, const HtmlEntities& entities, const std::vector<std::string>& section_tags,
       HtmlText& result)
      : html_(html), tokens_(html), entities_(entities), out_(section_tags, html.size(), result) {}

  // False: given up.
  bool read() {
    if (html_.find('\0') != std::string_view::npos) return false;
    for (auto token = tokens_.next(); token != Tokenizer::Token::page_end && !given_up_; token = tokens_.next()) {
      switch (token) {
        case Tokenizer::Token::text: text(tokens_.text(), tokens_.seen()); break;
        case Tokenizer::Token::markup: markup(tokens_.text()); break;
        case Tokenizer::Token::start_tag: tag(false); break;
        case Tokenizer::Token::end_tag: tag(true); break;
        default: break;
      }
    }
    if (given_up_) return false;
    while (!open_.empty()) pop();
    out_.finish();
    return true;
  }

 private:
  struct Element {
    Kind kind;
    Tag tag;
  };
  struct Inline {
    std::string name;
    bool formatting, hidden;
    size_t depth;  // of the stack where it began; kNone: something else has ended it, and it may begin again
  };
  struct Begun {
    std::string name;
    size_t depth;  // of the stack
  };
  struct Formatting {
    uint8_t number;
    size_t depth;  // kNone: something else has ended it, and it begins again with the next text
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void markup(std::string_view text) {
    after_pre_ = false;
    if (text.compare(0, 3, "<![") == 0 && !drawing_.empty()) given_up_ = true;
    if (html::contains_any_case(text.substr(0, 9), "<!doctype") && !std::exchange(begun_, true))
      standards_ = (text.size() == 15 && html::contains_any_case(text, "<!doctype html>")) ||
                   html::contains_any_case(text, "\"-//w3c//dtd xhtml 1.");
  }

  void tag(bool closing) {
    begun_ = true;
    const Tag& tag = tokens_.tag();
    const Attributes& attributes = tokens_.attributes();
    // The stack and the lists keep names.
    if (attributes.unclear || (!tokens_.lasts() && (left_out_ != kNone || attributes.hidden))) given_up_ = true;
    if (!drawing_.empty()) {
      foreign(tag, closing, attributes);
    } else if (closing) {
      end(tag);
    } else {
      start(tag, attributes);
    }
  }

  // The text with line breaks as \n and character references decoded.
  std::string_view decoded(std::string_view text, bool in_attribute) {
    const auto next = [text](size_t from) {
      while (from < text.size() && text[from] != '&' && text[from] != '\r') from++;
      return from;
    };
    if (next(0) == text.size()) return text;
    decoded_.clear();
    for (size_t i = 0; i < text.size();) {
      if (text[i] == '\r') {
        decoded_ += '\n';
        i += 1 + (text.compare(i, 2, "\r\n") == 0);
      } else if (text[i] == '&') {
        i = entities_.append(text, i, in_attribute, decoded_);
      } else {
        const size_t end = next(i);
        decoded_.append(text, i, end - i);
        i = end;
      }
    }
    return decoded_;
  }

  // ---- text and elements

  bool shown() const { return left_out_ == kNone && drawing_.empty(); }
  bool in_table() const { return !open_.empty() && is_table_part(open_.back().kind); }

  void text(std::string_view text, uint8_t seen) {
    if (templates_ > 0 || !drawing_.empty()) return;
    bool blank = !(seen & kHtmlVisible);
    if (head_ && (seen & kHtmlEncoded)) {
      const std::string_view characters = decoded(text, false);
      blank = std::all_of(characters.begin(), characters.end(), is_space);
    }
    const bool first = std::exchange(after_pre_, false);
    if (!blank) {
      begun_ = true;
      if (in_table() || (head_ && left_out_ != kNone)) given_up_ = true;  // the tree has it elsewhere
      head_ = false;
    }
    if (!shown()) return;
    size_t readable = html_.size() - static_cast<size_t>(text.data() - html_.data());
    if (seen & kHtmlEncoded) {
      text = decoded(text, false);
      readable = text.size();
    }
    if (first && text[0] == '\n') {
      text.remove_prefix(1);
      readable--;
    }
    out_.text(text, readable);
  }

  void push(Kind kind, const Tag& tag, bool left_out) {
    if (open_.size() >= kMaxOpen) given_up_ = true;
    if (kind == Kind::formatting) base_ = open_.size();
    if (left_out && left_out_ == kNone) {
      left_out_ = open_.size();
      if (kind == Kind::plain) base_ = left_out_;
    }
    if (base_ == open_.size()) inline_.clear();
    open_.push_back({kind, tag});
    paragraphs_ += kind == Kind::p;
    if (left_out_ == kNone) out_.tag(tag, false);
  }
  void pop() {
    const Element element = open_.back();
    open_.pop_back();
    paragraphs_ -= element.kind == Kind::p;
    for (size_t i = formatting_.size(); i-- > 0 && formatting_[i].depth > open_.size();) formatting_[i].depth = kNone;
    if (base_ != kNone) {
      for (size_t i = inline_.size(); i-- > 0 && inline_[i].depth > open_.size();) inline_[i].depth = kNone;
      if (base_ == open_.size()) end_base(element.kind);
    }
    if (left_out_ == kNone)
      out_.tag(element.tag, true);
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
    constexpr uint64_t ends = bit(Kind::marker) | bit(Kind::caption) | bit(Kind::table) | bit(Kind::cell) |
                              bit(Kind::template_) | bit(Kind::select);
    return ends & bit(kind);
  }
  size_t p_in_scope() const {
    if (paragraphs_ == 0) return kNone;
    return find([](const Element& e) { return e.kind == Kind::p; },
                [](Kind kind) { return ends_scope(kind) || kind == Kind::button; });
  }
  void close_p() {
    const size_t at = p_in_scope();
    if (at != kNone) pop_to(at);
  }
  void start(const Tag& tag, const Attributes& attributes) {
    after_pre_ = false;
    const std::string_view name = tag.name;
    const Kind kind = tag.kind;
    const uint8_t flags = tag.flags;
    if (templates_ > 0) {  // everything goes; only its end counts
      templates_ += kind == Kind::template_;
      if (kind == Kind::raw || kind == Kind::textarea) raw(name, false);
      // A hidden formatting element may go on behind the template, where that ends in an object.
      if (kind == Kind::svg || kind == Kind::unknown || (kind == Kind::formatting && attributes.hidden))
        given_up_ = true;
      return;
    }
    if (head_) {
      const bool fits = flags & kInHead;
      if (left_out_ != kNone && !(kind == Kind::empty && fits) && name != "style") given_up_ = true;
      head_ = fits;
    }
    if (!open_.empty() && open_.back().kind == Kind::select && kind != Kind::option) given_up_ = true;
    const bool left_out = attributes.hidden || (flags & kLeftOut);
    switch (kind) {
      case Kind::raw: raw(name, false); return;
      case Kind::template_: templates_ = 1; return;
      case Kind::caption:
      case Kind::columns:
      case Kind::rows:
      case Kind::row:
      case Kind::cell: return table_part(kind, tag, left_out);
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
        if (!left_out && left_out_ == kNone) return begin_inline(name, false);
        push(kind, tag, left_out);
        return begin_in_form(name);
      case Kind::formatting:
        // A link in a link closes what is around it.
        if (name == "nobr") given_up_ = true;
        if (name == "a") {
          if (in_link_ && (attributes.hidden || inline_base())) given_up_ = true;
          in_link_ = true;
        }
        begin_formatting(tag);
        if (attributes.hidden && !inline_base()) {
          push(kind, tag, true);
          return begin_in_form(name);
        }
        begin_inline(name, true, attributes.hidden);
        return;
      case Kind::br:
        if (shown() && !attributes.hidden) out_.tag(tag, false);
        return;
      case Kind::hr:
        close_p();
        if (shown() && !attributes.hidden) out_.tag(tag, false);
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
          const bool passes = e.kind == Kind::plain || e.kind == Kind::formatting || e.kind == Kind::legend ||
                              e.kind == Kind::p || e.tag.name == "address" || e.tag.name == "div";
          if (!passes) break;
        }
        close_p();
        break;
      }
      case Kind::form:
        if (form_) return;
        close_p();
        form_ = true;
        in_form_.clear();
        begins_again_ = too_much_formatting_ || std::any_of(formatting_.begin(), formatting_.end(),
                                                            [](const Formatting& f) { return f.depth == kNone; });
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
        push(kind, tag, left_out);
        raw(name, shown());
        pop();
        return;
      case Kind::option:
        if (left_out_ != kNone) return;
        if (open_.empty() || open_.back().kind != Kind::select || attributes.hidden) given_up_ = true;
        (name == "option" ? option_ : group_) = true;
        if (name != "option") option_ = false;
        out_.tag(tag, false);
        return;
      case Kind::legend:
        if (base_ == kNone) inline_.clear();
        return push(left_out || left_out_ != kNone ? Kind::plain : kind, tag, left_out);
      case Kind::svg:
        if (!attributes.closes_itself) drawing_.emplace_back(name);
        return;
      default: given_up_ = true; return;
    }
    push(kind, tag, left_out);
    after_pre_ = kind == Kind::pre;
  }

  // ---- tables

  void table_part(Kind kind, const Tag& tag, bool left_out) {
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
      if (open_[at].kind == Kind::table) push(Kind::rows, *html::find_tag("tbody"), false), at++;
      if (open_[at].kind == Kind::rows) push(Kind::row, *html::find_tag("tr"), false);
      return push(kind, tag, left_out);
    }
    if (open_[at].kind == Kind::row) pop_to(at--);
    if (kind == Kind::row) {
      if (open_[at].kind == Kind::table) push(Kind::rows, *html::find_tag("tbody"), false);
      return push(kind, tag, left_out);
    }
    if (open_[at].kind == Kind::rows) pop_to(at);
    if (kind != Kind::columns) push(kind, tag, left_out);
  }

  // ---- end tags

  void end(const Tag& tag) {
    const Kind kind = tag.kind;
    const std::string_view name = tag.name;
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
        if (left_out_ == kNone) return end_inline(name, false);
        end_in_form(name);
        return end_plain(name);
      case Kind::formatting:
        if (name == "a") in_link_ = false;
        end_formatting(tag);
        return end_inline(name, true);
      case Kind::br:
        if (in_table()) given_up_ = true;
        if (shown()) out_.tag(tag, false);
        return;
      case Kind::p: {
        const size_t at = p_in_scope();
        if (at != kNone) return pop_to(at);
        if (in_table()) given_up_ = true;
        if (shown()) out_.tag(tag, true);
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
        if (!in_form_.empty() || begins_again_) given_up_ = true;
        for (size_t i = at + 1; i < open_.size(); i++) {  // only what ends by itself may be open in it
          const Kind inner = open_[i].kind;
          if (inner != Kind::p && inner != Kind::li && inner != Kind::description) given_up_ = true;
        }
        return pop_to(at);
      }
      case Kind::li: {
        const auto list = [](Kind k) { return ends_scope(k); };
        const size_t at =
            find([](const Element& e) { return e.kind == Kind::li || e.tag.name == "ol" || e.tag.name == "ul"; }, list);
        if (at != kNone && open_[at].kind == Kind::li) pop_to(at);
        return;
      }
      case Kind::legend:
        if (left_out_ != kNone) return end_plain(name);
        if (!open_.empty() && open_.back().kind == kind) pop();
        return;
      case Kind::option:
        if (shown() && !open_.empty() && open_.back().kind == Kind::select && (name == "option" ? option_ : group_))
          out_.tag(tag, true);
        option_ = false;
        group_ &= name == "option";
        return;
      case Kind::table:
      case Kind::rows:
      case Kind::row:
      case Kind::cell:
      case Kind::caption: {
        const size_t at =
            find([&tag](const Element& e) { return e.tag.same(tag); }, [](Kind k) { return k == Kind::table; });
        if (at != kNone) pop_to(at);
        return;
      }
      case Kind::block:
      case Kind::description:
      case Kind::pre:
      case Kind::button:
      case Kind::marker:
      case Kind::select: {
        const size_t at = find([&tag](const Element& e) { return e.tag.same(tag); },
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

  // Whether the end tag of an inline element that began before it could close what is on the stack: inside of an inline
  // element that is left out, or a legend.
  bool inline_base() const { return base_ != kNone || (!open_.empty() && open_.back().kind == Kind::legend); }
  void begin_inline(std::string_view name, bool formatting, bool hidden = false) {
    begin_in_form(name);
    if (!inline_base()) return;
    if (hidden && base_ == kNone) given_up_ = true;
    inline_.push_back({std::string(name), formatting, hidden, open_.size()});
    if (inline_.size() > kMaxOpen) given_up_ = true;
  }
  void end_inline(std::string_view name, bool formatting) {
    end_in_form(name);
    if (!inline_base()) return;
    size_t at = inline_.size();
    while (at > 0 && inline_[at - 1].name != name) at--;
    if (at-- == 0) {
      if (formatting && base_ != kNone && open_[base_].kind == Kind::formatting && open_[base_].tag.name == name)
        end_hidden();
      else
        given_up_ = true;
      return;
    }
    // With it ends what has begun in it; of that, formatting may begin again.
    const size_t depth = inline_[at].depth;
    if (depth == kNone) given_up_ = true;
    for (size_t i = at + 1; i < inline_.size(); i++) inline_[i].depth = kNone;
    const auto rest = inline_.erase(inline_.begin() + static_cast<std::ptrdiff_t>(at));
    inline_.erase(std::remove_if(rest, inline_.end(), [](const Inline& i) { return !i.formatting; }), inline_.end());
    if (base_ == kNone || depth >= open_.size()) return;
    const bool inlines = std::all_of(open_.begin() + static_cast<std::ptrdiff_t>(depth), open_.end(),
                                     [](const Element& e) { return e.kind == Kind::plain; });
    if (inlines)
      pop_to(depth);
    else if (open_[depth].kind == Kind::plain)
      given_up_ = true;
  }
  // The end tag of a hidden formatting element. Where blocks are open in it, it would go on behind them.
  void end_hidden() {
    for (size_t i = base_ + 1; i < open_.size(); i++) given_up_ |= open_[i].kind != Kind::plain;
    open_[base_].kind = Kind::plain;
    pop_to(base_);
  }
  // A hidden formatting element that something else ends begins again behind that.
  void end_base(Kind kind) {
    base_ = kNone;
    given_up_ |= kind == Kind::formatting ||
                 std::any_of(inline_.begin(), inline_.end(), [](const Inline& i) { return i.hidden; });
  }

  // The formatting elements that are open, so that those are known that begin again in a form.
  void begin_formatting(const Tag& tag) {
    if (formatting_.size() == kMaxFormatting) {
      too_much_formatting_ = true;
      formatting_.erase(formatting_.begin());
    }
    formatting_.push_back({tag.number, open_.size()});
  }
  void end_formatting(const Tag& tag) {
    for (size_t i = formatting_.size(); i-- > 0;)
      if (formatting_[i].number == tag.number)
        return static_cast<void>(formatting_.erase(formatting_.begin() + static_cast<std::ptrdiff_t>(i)));
  }

  // A form that ends while inline elements are open in it goes on around what follows. One that does not end in its
  // turn stays among them.
  void begin_in_form(std::string_view name) {
    if (form_) in_form_.push_back({std::string(name), open_.size()});
  }
  void end_in_form(std::string_view name) {
    if (!in_form_.empty() && in_form_.back().name == name && in_form_.back().depth >= open_.size()) in_form_.pop_back();
  }

  // Elements that are on the stack only inside of what is left out.
  void end_plain(std::string_view name) {
    for (size_t i = open_.size(); i-- > left_out_;) {
      if (open_[i].tag.name == name) return pop_to(i);
      if (open_[i].kind == Kind::formatting) break;
      if (open_[i].kind != Kind::plain) return;
    }
    given_up_ = true;
  }

  // ---- text that is no markup, and drawings

  // Goes past the element's text and end tag; its text is shown, or not.
  void raw(std::string_view name, bool show) {
    std::string_view text = tokens_.raw_text(name);
    if (name == "script" && text.find("<!--") != std::string_view::npos && html::contains_any_case(text, "<script"))
      given_up_ = true;
    if (!show) return;
    text = decoded(text, false);
    if (!text.empty() && text[0] == '\n') text.remove_prefix(1);
    out_.text(text, text.size());
  }

  // Inside of svg: its own elements only. A tag of a page ends the drawing.
  void foreign(Tag tag, bool closing, const Attributes& attributes) {
    const std::string_view name = tag.name;
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
  Tokenizer tokens_;
  const HtmlEntities& entities_;
  html::Renderer out_;
  std::vector<Element> open_;
  int64_t paragraphs_ = 0;            // of the elements on the stack
  size_t left_out_ = kNone;           // the element on the stack that is not shown
  size_t base_ = kNone;               // the inline element on the stack that is left out, if it is one
  std::vector<Inline> inline_;        // inline elements open in that, or in a legend
  std::vector<std::string> drawing_;  // elements open in an svg, itself included
  int64_t templates_ = 0;
  std::vector<Begun> in_form_;  // inline elements that are open in the form
  std::vector<Formatting> formatting_;
  bool begins_again_ = false;  // formatting elements do in the form
  bool too_much_formatting_ = false;
  bool option_ = false, group_ = false;
  bool given_up_ = false, form_ = false, head_ = true, in_link_ = false;
  bool begun_ = false;      // a declaration of the page's type comes too late
  bool standards_ = false;  // the page says that it is not of before 1998, where paragraphs could hold tables
  bool after_pre_ = false;
  std::string decoded_;
};

}  // namespace

bool html_page(std::string_view html, const HtmlEntities& entities, const std::vector<std::string>& section_tags,
               HtmlText& result) {
  return Page(html, entities, section_tags, result).read();
}

}  // namespace rc
