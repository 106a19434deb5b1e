#include "structure/html.h"

#include "structure/html_render.h"

namespace rc {
namespace {

using html::is_letter;
using html::is_space;

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

// The text, or, where it has entities, `decoded`.
std::string_view decode(std::string_view text, std::string& decoded) {
  if (text.find('&') == std::string_view::npos) return text;
  decoded.clear();
  for (size_t i = 0; i < text.size();) {
    const size_t next = std::min(text.find('&', i), text.size());
    decoded.append(text, i, next - i);
    i = next < text.size() ? append_entity(text, next, decoded) : next;
  }
  return decoded;
}

// The value of the attribute `alt`.
std::string_view alt_of(std::string_view attributes) {
  for (size_t at = attributes.find("alt=\""); at != std::string_view::npos; at = attributes.find("alt=\"", at + 1)) {
    if (at == 0 || !is_space(attributes[at - 1])) continue;
    const size_t end = attributes.find('"', at + 5);
    return end == std::string_view::npos ? std::string_view() : attributes.substr(at + 5, end - at - 5);
  }
  return {};
}

}  // namespace

HtmlText html_text(std::string_view html, const std::vector<std::string>& section_tags,
                   const std::vector<std::string>& drop_tags) {
  HtmlText result;
  html::Renderer renderer(section_tags, html.size(), result);
  std::string decoded;
  const size_t none = std::string_view::npos, size = html.size();
  std::string_view dropped;  // the element that is left out, if any, and how many of its name are open
  int64_t open = 0;
  bool comments_end = true;  // false: there is no further "-->"; not searched again, so that time stays linear
  for (size_t at = 0; at < size;) {
    if (html[at] != '<') {
      const size_t next = std::min(html.find('<', at), size);
      if (open == 0) {
        const std::string_view text = decode(html.substr(at, next - at), decoded);
        renderer.text(text, text.size());
      }
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
      if (tag == "img") renderer.image(decode(alt_of(html.substr(name_end, end - name_end)), decoded));
      renderer.tag(tag, closing);
    }
    at = end + 1;
  }
  renderer.finish();
  return result;
}

}  // namespace rc
