#include "structure/html_tokenizer.h"

#include <algorithm>
#include <utility>

namespace rc::html {

bool contains_any_case(std::string_view text, std::string_view what) {
  return std::search(text.begin(), text.end(), what.begin(), what.end(),
                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; }) != text.end();
}

namespace {

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
    const std::string_view name = trimmed(declaration.substr(0, colon)), rest = declaration.substr(colon + 1);
    const std::string_view value = trimmed(rest.substr(0, rest.find('!')));
    if (equals_any_case(name, "display")) displayed = !equals_any_case(value, "none");
    if (equals_any_case(name, "visibility")) visible = !equals_any_case(value, "hidden");
  }
  return !displayed || !visible;
}

}  // namespace

Tokenizer::Token Tokenizer::next() {
  const size_t size = html_.size();
  if (at_ >= size) return Token::page_end;
  if (html_[at_] != '<') {
    const auto at = static_cast<int64_t>(at_), end = static_cast<int64_t>(size);
    return take(Token::text, static_cast<size_t>(text_end_(html_.data(), at, end, &seen_)));
  }
  if (is_letter(peek(1))) return read_tag(false);
  if (peek(1) == '/') {
    if (is_letter(peek(2))) return read_tag(true);
    if (at_ + 2 >= size) return sign(size);
    return take(peek(2) == '>' ? Token::nothing : Token::markup, after('>'));
  }
  if (html_.compare(at_, 4, "<!--") == 0) return take(Token::markup, comment_end());
  if (peek(1) == '!' || peek(1) == '?') return take(Token::markup, after('>'));
  return sign(at_ + 1);
}

// A "<" that is text.
Tokenizer::Token Tokenizer::sign(size_t end) {
  seen_ = kHtmlVisible;
  return take(Token::text, end);
}

Tokenizer::Token Tokenizer::take(Token token, size_t end) {
  text_ = html_.substr(at_, end - at_);
  at_ = end;
  return token;
}

size_t Tokenizer::after(char mark) const {
  const size_t end = html_.find(mark, at_);
  return end == std::string_view::npos ? html_.size() : end + 1;
}

size_t Tokenizer::comment_end() const {
  if (peek(4) == '>' || (peek(4) == '-' && peek(5) == '>')) return after('>');
  for (size_t p = html_.find("--", at_ + 4); p != std::string_view::npos; p = html_.find("--", p + 1)) {
    const size_t end = p + 2;
    if (end < html_.size() && html_[end] == '>') return end + 1;
    if (html_.compare(end, 2, "!>") == 0) return end + 2;
  }
  return html_.size();
}

Tokenizer::Token Tokenizer::read_tag(bool closing) {
  size_t p = at_ + 1 + closing;
  const size_t begin = p;
  bool upper = false;
  while (p < html_.size() && !is_space(html_[p]) && html_[p] != '/' && html_[p] != '>') {
    upper |= html_[p] >= 'A' && html_[p] <= 'Z';
    p++;
  }
  std::string_view name = html_.substr(begin, p - begin);
  attributes_ = {};
  p = p < html_.size() && html_[p] == '>' ? p + 1 : read_attributes(p);
  if (p == kNone) {  // the page ends inside of the tag
    at_ = html_.size();
    return Token::page_end;
  }
  at_ = p;
  if (upper) {
    attributes_.unclear |= name.size() > sizeof lower_;
    name = name.substr(0, sizeof lower_);
    std::transform(name.begin(), name.end(), lower_,
                   [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    name = {lower_, name.size()};
  }
  const Tag* known = find_tag(name);
  if (known) {
    tag_ = *known;
  } else {
    tag_ = Tag{};
    tag_.name = name;
  }
  lasts_ = known || !upper;
  return closing ? Token::end_tag : Token::start_tag;
}

// Returns where the tag ends, or kNone where the page does.
size_t Tokenizer::read_attributes(size_t p) {
  for (;;) {
    const size_t gap = p;
    while (p < html_.size() && (is_space(html_[p]) || html_[p] == '/')) p++;
    if (p >= html_.size()) return kNone;
    if (html_[p] == '>') {
      attributes_.closes_itself = p > gap && html_[p - 1] == '/';
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
    attribute(html_.substr(name, name_end - name), value);
  }
}

void Tokenizer::attribute(std::string_view name, std::string_view value) {
  Attributes& found = attributes_;
  const auto is = [name](std::string_view what) { return equals_any_case(name, what); };
  if (is("alt")) {
    if (!found.has_alt) found.alt = value;
    found.has_alt = true;
  } else if (is("hidden")) {
    found.hidden = true;
  } else if (is("aria-hidden")) {
    if (!std::exchange(found.has_aria, true)) found.hidden |= value == "true";
  } else if (is("style")) {
    found.unclear |= value.find('&') != std::string_view::npos;
    if (!std::exchange(found.has_style, true)) found.hidden |= hides(value);
  }
}

std::string_view Tokenizer::raw_text(std::string_view name) {
  const size_t begin = at_;
  for (size_t end = html_.find("</", begin); end != std::string_view::npos; end = html_.find("</", end + 1)) {
    const size_t after = end + 2 + name.size();
    if (after >= html_.size()) break;
    if (!equals_any_case(html_.substr(end + 2, name.size()), name)) continue;
    if (!is_space(html_[after]) && html_[after] != '>' && html_[after] != '/') continue;
    at_ = std::min(html_[after] == '>' ? after + 1 : read_attributes(after), html_.size());
    return html_.substr(begin, end - begin);
  }
  at_ = html_.size();
  return html_.substr(begin);
}

}  // namespace rc::html
