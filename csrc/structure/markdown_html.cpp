#include "structure/markdown_html.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace rc::markdown {
namespace {

constexpr std::string_view kBlockTags[] = {
    "address",  "article",    "aside",  "base",    "basefont", "blockquote", "body",     "caption",  "center",
    "col",      "colgroup",   "dd",     "details", "dialog",   "dir",        "div",      "dl",       "dt",
    "fieldset", "figcaption", "figure", "footer",  "form",     "frame",      "frameset", "h1",       "h2",
    "h3",       "h4",         "h5",     "h6",      "head",     "header",     "hr",       "html",     "iframe",
    "legend",   "li",         "link",   "main",    "menu",     "menuitem",   "nav",      "noframes", "ol",
    "optgroup", "option",     "p",      "param",   "search",   "section",    "summary",  "table",    "tbody",
    "td",       "tfoot",      "th",     "thead",   "title",    "tr",         "track",    "ul"};
constexpr std::string_view kRawTags[] = {"pre", "script", "style", "textarea"};

bool attribute(Text& t) {
  if (!(t.p < t.end && (is_letter(*t.p) || *t.p == '_' || *t.p == ':'))) return false;
  while (t.p < t.end && (is_letter(*t.p) || is_digit(*t.p) || std::strchr("_.:-", *t.p)) && *t.p) ++t.p;
  const char* after_name = t.p;
  t.spaces();
  if (!(t.p < t.end && *t.p == '=')) {
    t.p = after_name;
    return true;
  }
  ++t.p;
  t.spaces();
  if (t.p == t.end) return false;
  if (*t.p == '"' || *t.p == '\'') {
    const void* close = std::memchr(t.p + 1, *t.p, static_cast<size_t>(t.end - t.p - 1));
    if (!close) return false;
    t.p = static_cast<const char*>(close) + 1;
    return true;
  }
  const char* value = t.p;
  while (t.p < t.end && static_cast<unsigned char>(*t.p) > ' ' && !std::strchr("\"'=<>`", *t.p)) ++t.p;
  return t.p > value;
}

// A complete open or closing tag and nothing else on the line (kind 7).
bool lone_tag(Text t) {
  ++t.p;
  const bool closing = t.p < t.end && *t.p == '/';
  if (closing) ++t.p;
  if (!(t.p < t.end && is_letter(*t.p))) return false;
  while (t.p < t.end && (is_letter(*t.p) || is_digit(*t.p) || *t.p == '-')) ++t.p;
  for (;;) {
    const char* before = t.p;
    t.spaces();
    if (t.p == t.end) return false;
    if (*t.p == '>') break;
    if (!closing && *t.p == '/' && t.has(2) && t.p[1] == '>') {
      ++t.p;
      break;
    }
    if (closing || t.p == before || !attribute(t)) return false;
  }
  ++t.p;
  t.spaces();
  return t.p == t.end;
}

bool contains(Text t, std::string_view what) {
  return std::string_view(t.p, static_cast<size_t>(t.end - t.p)).find(what) != std::string_view::npos;
}

// </pre>, </script>, </style> or </textarea>, in any case.
bool closes_raw(Text t) {
  while (t.p < t.end) {
    const void* hit = std::memchr(t.p, '<', static_cast<size_t>(t.end - t.p));
    if (!hit) return false;
    t.p = static_cast<const char*>(hit) + 1;
    if (!(t.p < t.end && *t.p == '/')) continue;
    for (std::string_view tag : kRawTags) {
      const int64_t n = static_cast<int64_t>(tag.size());
      if (t.has(n + 2) && t.p[n + 1] == '>' &&
          std::equal(tag.begin(), tag.end(), t.p + 1, [](char a, char b) { return a == lower(b); }))
        return true;
    }
  }
  return false;
}

}  // namespace

int html_kind(Text t) {
  if (!t.has(2)) return 0;
  const char c = t.p[1];
  if (c == '?') return 3;
  if (c == '!') {
    if (t.has(4) && t.p[2] == '-' && t.p[3] == '-') return 2;
    if (t.has(3) && is_letter(t.p[2])) return 4;
    return t.has(9) && std::memcmp(t.p + 2, "[CDATA[", 7) == 0 ? 5 : 0;
  }
  const bool closing = c == '/';
  const char* name = t.p + 1 + closing;
  char letters[12];
  size_t n = 0;
  while (n < sizeof letters && name + n < t.end && (is_letter(name[n]) || is_digit(name[n])))
    letters[n] = lower(name[n]), ++n;
  const std::string_view tag(letters, n);
  const char* after = name + n;
  const bool ends = after == t.end || is_space(*after) || *after == '>';
  if (!closing && ends && std::find(std::begin(kRawTags), std::end(kRawTags), tag) != std::end(kRawTags)) return 1;
  const bool slash = t.end - after >= 2 && after[0] == '/' && after[1] == '>';
  if ((ends || slash) && std::binary_search(std::begin(kBlockTags), std::end(kBlockTags), tag)) return 6;
  return lone_tag(t) ? 7 : 0;
}

bool html_ends(int kind, Text t) {
  switch (kind) {
    case 1: return closes_raw(t);
    case 2: return contains(t, "-->");
    case 3: return contains(t, "?>");
    case 4: return contains(t, ">");
    case 5: return contains(t, "]]>");
    default: return false;  // at a blank line
  }
}

}  // namespace rc::markdown
