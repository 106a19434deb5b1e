#include <algorithm>

#include "structure/html.h"

namespace rc {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void append_utf8(uint32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; i--) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
}

// What pages mean by the numbers 0x80 to 0x9f: characters of windows-1252 (0: the number itself).
constexpr uint16_t kWindows1252[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                       0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// "&#8211;" or "&#x2013;" at `at`; false where it has no digit.
bool append_number(std::string_view text, size_t& at, std::string& out) {
  size_t p = at + 2;
  const bool hex = p < text.size() && (text[p] | 0x20) == 'x';
  p += hex;
  const size_t digits = p;
  uint32_t value = 0;
  for (; p < text.size(); p++) {
    const char c = text[p];
    const char low = static_cast<char>(c | 0x20);
    uint32_t digit;
    if (c >= '0' && c <= '9')
      digit = static_cast<uint32_t>(c - '0');
    else if (hex && low >= 'a' && low <= 'f')
      digit = static_cast<uint32_t>(low - 'a') + 10;
    else
      break;
    value = std::min<uint32_t>(value * (hex ? 16 : 10) + digit, 0x110000);
  }
  if (p == digits) return false;
  if (p < text.size() && text[p] == ';') p++;
  if (value == 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) value = 0xFFFD;
  if (value >= 0x80 && value < 0xA0 && kWindows1252[value - 0x80]) value = kWindows1252[value - 0x80];
  append_utf8(value, out);
  at = p;
  return true;
}

}  // namespace

void HtmlEntities::add(std::string name, std::string characters) {
  longest_ = std::max(longest_, name.size());
  table_.emplace(std::move(name), std::move(characters));
}

size_t HtmlEntities::append(std::string_view text, size_t at, bool in_attribute, std::string& out) const {
  if (at + 1 < text.size() && text[at + 1] == '#' && append_number(text, at, out)) return at;
  size_t end = at + 1;
  while (end < text.size() && end - at <= longest_ && is_alphanumeric(text[end])) end++;
  if (end < text.size() && text[end] == ';') end++;
  for (; end > at + 2; end--) {
    const auto found = table_.find(std::string(text.substr(at + 1, end - at - 1)));
    if (found == table_.end()) continue;
    const char after = end < text.size() ? text[end] : '\0';
    if (in_attribute && text[end - 1] != ';' && (after == '=' || is_alphanumeric(after))) break;
    out += found->second;
    return end;
  }
  out += '&';
  return at + 1;
}

}  // namespace rc
