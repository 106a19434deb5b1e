#include "chunks/sections.h"

#include <algorithm>

#include "core/graphemes.h"
#include "core/utf8.h"

namespace rc {
namespace {

// Packs parts of one document; most of them fit as they are, and are not searched for boundaries.
class Cutter {
 public:
  Cutter(std::string_view text, const Measure& measure, int64_t max_tokens) : text_(text), measure_(measure) {
    options_.max_tokens = max_tokens;
  }

  // The pieces of [start, end).
  const std::vector<PackedChunk>& cut(int64_t start, int64_t end, const std::vector<Level>& levels) {
    found_.clear();
    const int64_t last = trim_space(text_.data(), start, end), first = skip_space(text_.data(), start, last);
    // A mark may hold on to the white space before it.
    const bool plain = first == start || is_cluster_boundary(text_.data(), size(), first, start);
    if (first < last && plain && measure_.reach_to(first, options_.max_tokens, last) >= last) {
      const int64_t tokens = measure_.count(first, last);
      if (tokens <= options_.max_tokens) {
        found_.push_back({first, last, tokens});
        return found_;
      }
    }
    pack(text_, start, end, measure_, levels, options_, found_);
    return found_;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(text_.size()); }

  const std::string_view text_;
  const Measure& measure_;
  PackOptions options_;
  std::vector<PackedChunk> found_;
};

Level positions(const std::vector<Span>& spans, Level::Kind kind) {
  Level level;
  level.kind = kind;
  level.first = spans.data();
  level.last = spans.data() + spans.size();
  return level;
}

// Where pieces of the tables that are parts may begin.
std::vector<Span> rows_of(const SectionColumns& sections, const SectionPart* parts, int64_t n) {
  std::vector<Span> rows;
  for (int64_t p = 0; p < n; p++) {
    if (parts[p].table < 0) continue;
    for (int64_t r = sections.first_row[parts[p].table]; r < sections.first_row[parts[p].table + 1]; r++)
      rows.push_back({sections.row[r], sections.row[r]});
  }
  return rows;
}

}  // namespace

PathTree::PathTree(const int64_t* parent, int64_t n) : parent_(parent), length_(static_cast<size_t>(n)) {
  for (int64_t i = 0; i < n; i++)
    length_[static_cast<size_t>(i)] = 1 + (parent[i] < 0 ? 0 : length_[static_cast<size_t>(parent[i])]);
}

int64_t PathTree::shared(int64_t a, int64_t b) const {
  while (a != b) {
    int64_t& longer = length(a) >= length(b) ? a : b;
    longer = parent_[longer];
  }
  return a;
}

void section_pieces(std::string_view text, const SectionColumns& sections, const Measure& measure,
                    const std::vector<Level>& levels, int64_t max_tokens, std::vector<SectionPart>& parts,
                    std::vector<SectionPiece>& pieces) {
  Cutter cutter(text, measure, max_tokens);
  const std::vector<Level> words(1);
  const auto too_long = [&](int64_t start, int64_t end) { return cutter.cut(start, end, words).size() > 1; };
  const size_t first_part = parts.size();
  for (int64_t s = 0; s < sections.n; s++) {
    int64_t at = sections.start[s];
    const int64_t end = sections.end[s], table_end = sections.first_table[s + 1];
    int64_t table = sections.first_table[s];
    if (table < table_end && too_long(at, end)) {
      for (; table < table_end; table++) {
        const int64_t from = sections.table_start[table], to = sections.table_end[table];
        if (!sections.loose[table] && !too_long(from, to)) continue;
        if (from > at) parts.push_back({at, from, s, -1});
        parts.push_back({from, to, s, table});
        at = to;
      }
    }
    if (end > at) parts.push_back({at, end, s, -1});
  }
  const auto n = static_cast<int64_t>(parts.size() - first_part);
  const std::vector<Span> rows = rows_of(sections, parts.data() + first_part, n);
  std::vector<Level> all{positions(rows, Level::Kind::positions)};
  all.insert(all.end(), levels.begin(), levels.end());
  for (int64_t p = 0; p < n; p++) {
    const SectionPart part = parts[first_part + static_cast<size_t>(p)];
    for (const PackedChunk& piece : cutter.cut(part.start, part.end, rows.empty() ? levels : all))
      pieces.push_back({piece.start, piece.end, piece.tokens, p});
  }
}

void section_groups(const SectionColumns& sections, const PathTree& paths, const SectionPart* parts,
                    const SectionPiece* pieces, int64_t n, const int64_t* room_left, const SectionGroupOptions& options,
                    std::vector<SectionGroup>& groups) {
  struct Sized : SectionGroup {
    int64_t tokens;
  };
  enum class Round { bare, siblings, any };
  std::vector<Sized> now, merged;
  for (int64_t i = 0; i < n; i++) now.push_back({{i, i}, pieces[i].tokens});
  const auto siblings = [&](int64_t a, int64_t b) {
    const int64_t left = paths.length(sections.path[a]), right = paths.length(sections.path[b]);
    const int64_t both = paths.length(paths.shared(sections.path[a], sections.path[b]));
    return both >= std::min(left, right) || both >= std::max(left, right) - 1;
  };
  const auto round = [&](Round which) {
    merged.clear();
    for (const Sized& group : now) {
      if (!merged.empty() && merged.back().tokens + group.tokens <= options.max_tokens) {
        Sized& before = merged.back();
        const int64_t left_part = pieces[before.last].part, right_part = pieces[group.first].part;
        const int64_t left = parts[left_part].section, right = parts[right_part].section;
        const bool other = left_part != right_part;
        bool wanted = options.fill || std::min(before.tokens, group.tokens) < options.min_tokens;
        if (which == Round::bare) {
          const int64_t together = before.tokens + group.tokens + (room_left ? room_left[right_part] : 0);
          wanted = sections.bare[left] && other && together <= options.max_tokens;
        } else if (which == Round::siblings) {
          wanted = wanted && siblings(left, right);
        }
        if (wanted && !(other && sections.apart[right])) {
          before.last = group.last;
          before.tokens += group.tokens;
          continue;
        }
      }
      merged.push_back(group);
    }
    now.swap(merged);
  };
  if (!options.fill) round(Round::bare);
  if (!options.fill && options.min_tokens > 0) round(Round::siblings);
  if (options.fill || options.min_tokens > 0) round(Round::any);
  groups.insert(groups.end(), now.begin(), now.end());
}

void section_chunks(std::string_view text, const SectionColumns& sections, const PathTree& paths,
                    const SectionPart* parts, int64_t n_parts, const SectionPiece* pieces, int64_t n_pieces,
                    const SectionGroup* groups, int64_t n_groups, const Measure& measure,
                    const std::vector<Level>& levels, int64_t max_tokens, std::vector<SectionChunk>& chunks) {
  Cutter cutter(text, measure, max_tokens);
  const std::vector<Span> rows = rows_of(sections, parts, n_parts);
  std::vector<Span> starts;
  for (int64_t i = 0; i < n_pieces; i++) starts.push_back({pieces[i].start, pieces[i].end});
  std::vector<Level> all{positions(starts, Level::Kind::starts), positions(rows, Level::Kind::positions)};
  if (rows.empty()) all.pop_back();
  all.insert(all.end(), levels.begin(), levels.end());
  std::vector<int64_t> begins(static_cast<size_t>(n_parts), INT64_MAX);  // where a part's text begins
  for (int64_t i = 0; i < n_pieces; i++) {
    int64_t& begin = begins[static_cast<size_t>(pieces[i].part)];
    begin = std::min(begin, pieces[i].start);
  }
  const auto part_at = [&](int64_t at) {
    const auto after = std::upper_bound(parts, parts + n_parts, at,
                                        [](int64_t value, const SectionPart& part) { return value < part.start; });
    return std::max<int64_t>(after - parts - 1, 0);
  };
  const size_t before = chunks.size();
  for (int64_t g = 0; g < n_groups; g++) {
    const int64_t start = pieces[groups[g].first].start;
    const int64_t end = std::max(pieces[groups[g].first].end, pieces[groups[g].last].end);
    // Where pieces overlap, the end of a run that was cut once more may be in the next one as a whole.
    while (chunks.size() > before && chunks.back().start > start && chunks.back().end <= end) chunks.pop_back();
    for (const PackedChunk& c : cutter.cut(start, end, all)) {
      const int64_t first = part_at(c.start), last = part_at(c.end - 1);
      int64_t main = first;
      while (main < last && sections.bare[parts[main].section]) main++;
      const int64_t path = paths.shared(sections.path[parts[main].section], sections.path[parts[last].section]);
      chunks.push_back(
          {c.start, c.end, c.tokens, first, main, last, path, c.start - begins[static_cast<size_t>(first)]});
    }
  }
}

}  // namespace rc
