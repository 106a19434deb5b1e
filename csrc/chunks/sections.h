// The stage of the strategies that know what an author set off: sections -> chunks.
//
// Sections that are too long are cut at boundaries by level, long tables between their rows only; the pieces are put
// together again where they are too small. Between the two steps, room may be taken for what is to go before a piece.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "chunks/measure.h"
#include "chunks/pack.h"

namespace rc {

// The sections of one document, in order, as views of columns. Positions are bytes.
struct SectionColumns {
  int64_t n = 0;
  const int64_t *start = nullptr, *end = nullptr;
  const uint8_t *bare = nullptr, *apart = nullptr;  // only a heading; shares no chunk with what is before it
  const int64_t* path = nullptr;                    // a node of PathTree, or -1
  // Tables first[s] to first[s + 1] are in section s; a piece of table t may begin at rows first_row[t] to
  // first_row[t + 1]. One that is loose has empty lines in it, at which a section that is too long would be cut.
  const int64_t *first_table = nullptr, *table_start = nullptr, *table_end = nullptr, *first_row = nullptr,
                *row = nullptr;
  const uint8_t* loose = nullptr;
};

// Heading paths: a node for each path that is not empty, after that of the path without its last title.
class PathTree {
 public:
  PathTree(const int64_t* parent, int64_t n);
  int64_t length(int64_t node) const { return node < 0 ? 0 : length_[node]; }
  // The titles that both begin with.
  int64_t shared(int64_t a, int64_t b) const;

 private:
  const int64_t* parent_;
  std::vector<int32_t> length_;
};

// A section, or a long table of it, or what is before, between and after these.
struct SectionPart {
  int64_t start, end;
  int64_t section, table;  // numbers in the document's columns; no table: -1
};

struct SectionPiece {
  int64_t start, end, tokens;
  int64_t part;  // its number in the document
};

// Appends the parts of a document, and their pieces of at most max_tokens.
void section_pieces(std::string_view text, const SectionColumns& sections, const Measure& measure,
                    const std::vector<Level>& levels, int64_t max_tokens, std::vector<SectionPart>& parts,
                    std::vector<SectionPiece>& pieces);

struct SectionGroupOptions {
  int64_t max_tokens = 0;  // special tokens already taken off
  int64_t min_tokens = 0;
  bool fill = false;  // as many pieces as fit make a chunk
};

// First and last piece of a chunk.
struct SectionGroup {
  int64_t first, last;
};

// Pieces that make a chunk: a heading goes with what it is the heading of, then pieces under the minimum go with a
// neighbour of the same parent, then with any. `room_left[part]`, if given, are tokens that a chunk of the part has to
// leave free where a heading joins it.
void section_groups(const SectionColumns& sections, const PathTree& paths, const SectionPart* parts,
                    const SectionPiece* pieces, int64_t n, const int64_t* room_left, const SectionGroupOptions& options,
                    std::vector<SectionGroup>& groups);

struct SectionChunk {
  int64_t start, end, tokens;
  int64_t first, main, last;  // parts: where it begins, the first that is not bare, where it ends
  int64_t path;               // what main and last share
  int64_t into;               // bytes between the beginning of the first part's text and of the chunk
};

// Appends the chunks of a document. What is joined may have more tokens than its parts: then it is cut once more, where
// a piece begins, else at the levels.
void section_chunks(std::string_view text, const SectionColumns& sections, const PathTree& paths,
                    const SectionPart* parts, int64_t n_parts, const SectionPiece* pieces, int64_t n_pieces,
                    const SectionGroup* groups, int64_t n_groups, const Measure& measure,
                    const std::vector<Level>& levels, int64_t max_tokens, std::vector<SectionChunk>& chunks);

}  // namespace rc
