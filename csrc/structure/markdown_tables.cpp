#include "structure/markdown_tables.h"

namespace rc::markdown {

int64_t row_cells(Text t) {
  t.spaces();
  while (t.end > t.p && is_space(t.end[-1])) --t.end;
  int64_t pipes = 0;
  bool any = false;
  for (const char* p = t.p; p < t.end; ++p) {
    any = any || *p == '|';
    pipes += *p == '|' && (p == t.p || p[-1] != '\\');
  }
  if (!any) return 0;
  const bool last = t.end[-1] == '|' && (t.end - t.p == 1 || t.end[-2] != '\\');
  return pipes + 1 - (*t.p == '|') - last;
}

int64_t delimiter_cells(Text t) {
  t.spaces();
  while (t.end > t.p && is_space(t.end[-1])) --t.end;
  if (t.end - t.p < 2 || (*t.p == '-' && is_space(t.p[1]))) return 0;
  int64_t cells = 0;
  for (bool first = true;; first = false) {
    t.spaces();
    const char* cell = t.p;
    if (t.p < t.end && *t.p == ':') ++t.p;
    const char* dashes = t.p;
    while (t.p < t.end && *t.p == '-') ++t.p;
    const bool any = t.p > dashes;
    if (any && t.p < t.end && *t.p == ':') ++t.p;
    if (!any && t.p > cell) return 0;
    t.spaces();
    cells += any;
    if (t.p == t.end) return any || !first ? cells : 0;  // an empty cell is allowed first and last
    if (*t.p != '|' || (!any && !first)) return 0;
    ++t.p;
  }
}

}  // namespace rc::markdown
