// The packing stage: a document and its boundaries -> chunks under a minimum and a maximum, with overlap.
//
// Boundaries come in levels, the best first (paragraphs, lines, sentences, words). A chunk is cut at the furthest
// boundary of the best level that lies within the maximum; where there is none at all, between two characters. So one
// pass serves windows (one level: words), sentence grouping (sentences, then words) and recursive splitting (a
// separator hierarchy).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chunks/measure.h"
#include "core/span.h"

namespace rc {

// One level of boundaries in one document.
struct Level {
  enum class Kind {
    literals,   // any of these separators, searched as needed
    positions,  // separator spans found beforehand (regular expressions), sorted; a span may be empty
    starts,     // where spans found beforehand (sentences) begin, sorted
    words,      // the start of a word
  };
  Kind kind = Kind::words;
  const std::vector<std::string>* literals = nullptr;
  const Span* first = nullptr;
  const Span* last = nullptr;
  bool is_found() const { return kind == Kind::positions || kind == Kind::starts; }
  // Overlap is made of units of levels that are not words; failing these, of words.
  bool is_words() const {
    return kind == Kind::words || (kind == Kind::literals && literals->size() == 1 && (*literals)[0] == " ");
  }
};

// What happens to the separator at a cut.
enum class Keep { end, start, drop };

struct PackOptions {
  int64_t max_tokens = 0;  // special tokens already taken off
  int64_t min_tokens = 0;
  int64_t overlap = 0;
  Keep keep = Keep::end;
};

struct PackedChunk {
  int64_t start, end, tokens;
};

// Appends the chunks of a document, or of its part [begin, end): trimmed of white space, never blank, starts
// increasing. Only a single character that is larger than max_tokens by itself makes a chunk exceed it.
void pack(std::string_view text, int64_t begin, int64_t end, const Measure& measure, const std::vector<Level>& levels,
          const PackOptions& options, std::vector<PackedChunk>& out);

using MeasureMaker = std::function<std::unique_ptr<Measure>()>;

// The same for a whole document, by several threads, each with a measure of its own. They begin in the middle, as if a
// chunk started there; where the chunks of the part before come to the same place and state, those that follow are the
// same, and are taken over. (Measured: after a few dozen chunks; windows seldom meet, and are left to one thread.)
void pack_large(std::string_view text, const MeasureMaker& measure, const std::vector<Level>& levels,
                const PackOptions& options, int threads, std::vector<PackedChunk>& out, int64_t least_part = 1 << 19);

}  // namespace rc
