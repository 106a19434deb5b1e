// The elements of HTML by how the parser treats them.
#pragma once
#include <cstdint>
#include <string_view>

namespace rc::html {

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

// What an element is to the text, beside the breaks around it.
enum class Role : uint8_t { none, br, cell, header_cell, pre, textarea, heading, table, head, row };

struct Tag {
  std::string_view name;
  Kind kind = Kind::plain;
  uint8_t flags = 0;
  uint8_t breaks = 0;  // lines that it is apart from what is before and after it
  Role role = Role::none;
  uint8_t level = 0;   // of a heading
  uint8_t number = 0;  // of the elements that are known, from 1; 0: another

  bool same(const Tag& other) const { return number == other.number && (number > 0 || name == other.name); }
};

// The element of this name (in lower case), or null. What it points to stays.
const Tag* find_tag(std::string_view name);

}  // namespace rc::html
