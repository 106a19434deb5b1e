#include "core/graphemes.h"

#include <algorithm>
#include <iterator>

#include "core/grapheme_tables.h"
#include "core/utf8.h"

namespace rc {
namespace {

template <int64_t N>
bool in_table(const CodePointRange (&table)[N], uint32_t c) {
  const auto* hit = std::lower_bound(std::begin(table), std::end(table), c,
                                     [](const CodePointRange& r, uint32_t value) { return r.last < value; });
  return hit != std::end(table) && hit->first <= c;
}

bool is_regional_indicator(uint32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }

enum class Hangul { none, l, v, t, lv, lvt };

Hangul hangul(uint32_t c) {
  if (c < 0x1100) return Hangul::none;
  if (c <= 0x115F || (c >= 0xA960 && c <= 0xA97C)) return Hangul::l;
  if (c <= 0x11A7 || (c >= 0xD7B0 && c <= 0xD7C6)) return Hangul::v;
  if (c <= 0x11FF || (c >= 0xD7CB && c <= 0xD7FB)) return Hangul::t;
  if (c >= 0xAC00 && c <= 0xD7A3) return (c - 0xAC00) % 28 == 0 ? Hangul::lv : Hangul::lvt;
  return Hangul::none;
}

bool hangul_joins(uint32_t before, uint32_t after) {
  const Hangul a = hangul(before), b = hangul(after);
  if (a == Hangul::none || b == Hangul::none) return false;
  if (a == Hangul::l) return b != Hangul::t;
  if (a == Hangul::v || a == Hangul::lv) return b == Hangul::v || b == Hangul::t;
  return b == Hangul::t;
}

}  // namespace

bool is_cluster_boundary_at(const char* text, int64_t size, int64_t at, int64_t low) {
  if (is_continuation(text[at])) return false;
  const int64_t before_at = previous(text, at);
  const uint32_t after = decode(text, size, at).value, before = decode(text, size, before_at).value;
  // Nothing extends a line end or a control character.
  if (before == '\r' || before == '\n' || before < 0x20) return true;
  if (in_table(EXTENDS, after) || in_table(JOINS_NEXT, before) || hangul_joins(before, after)) return false;
  // A virama joins across the marks that follow it. Only a character that is no mark looks back, so each run of marks
  // is read once.
  for (int64_t i = before_at; i >= low; i = previous(text, i)) {
    const uint32_t mark = decode(text, size, i).value;
    if (!in_table(EXTENDS, mark)) break;
    if (in_table(JOINS_NEXT, mark)) return false;
    if (i == 0) break;
  }
  if (is_regional_indicator(after) && is_regional_indicator(before)) {
    int64_t run = 0, i = at;
    while (i > low) {
      const int64_t p = previous(text, i);
      if (!is_regional_indicator(decode(text, size, p).value)) break;
      run++;
      i = p;
    }
    return run % 2 == 0;
  }
  return true;
}

}  // namespace rc
