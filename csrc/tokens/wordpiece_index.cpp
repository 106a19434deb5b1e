#include "tokens/wordpiece_index.h"

#include <mutex>
#include <utility>

#include "core/parallel.h"
#include "core/utf8.h"

namespace rc {
namespace {

constexpr int64_t PIECE_BYTES = 1 << 18;

struct Piece {
  int64_t document, begin, end;
};

// Cut behind white space, where WordPiece starts afresh. A run without white space stays whole, however long.
void cut_document(std::string_view text, int64_t document, std::vector<Piece>& pieces) {
  const int64_t size = static_cast<int64_t>(text.size());
  int64_t begin = 0;
  while (size - begin > PIECE_BYTES) {
    int64_t end = begin + PIECE_BYTES;
    while (end < size && text[end - 1] != ' ' && text[end - 1] != '\n') end++;
    if (end >= size) break;
    pieces.push_back({document, begin, end});
    begin = end;
  }
  pieces.push_back({document, begin, size});
}

// Gives every long document the ids of its pieces, which are freed one by one.
void join_ids(const std::vector<Piece>& pieces, std::vector<std::vector<int32_t>>& ids,
              std::vector<TokenIndex>& indexes) {
  for (size_t first = 0, end; first < pieces.size(); first = end) {
    const int64_t document = pieces[first].document;
    size_t total = 0;
    for (end = first; end < pieces.size() && pieces[end].document == document; end++) total += ids[end].size();
    if (end - first == 1) continue;  // a whole document, which has them
    std::vector<int32_t> joined;
    joined.reserve(total);
    for (size_t p = first; p < end; p++) {
      joined.insert(joined.end(), ids[p].begin(), ids[p].end());
      ids[p] = {};
    }
    indexes[document].set_ids(std::move(joined));
  }
}

}  // namespace

std::vector<TokenIndex> wordpiece_indexes(const std::vector<std::string_view>& texts, const WordPiece& wordpiece,
                                          bool keep_ids, int threads) {
  const Additivity additivity = wordpiece.matches_added() ? Additivity::never : Additivity::words;
  std::vector<Piece> pieces;
  // Made here, not by the threads that fill them: what many threads allocate and one frees, the allocator may keep.
  std::vector<TokenIndex> indexes;
  indexes.reserve(texts.size());
  for (size_t d = 0; d < texts.size(); d++) {
    indexes.emplace_back(static_cast<int64_t>(texts[d].size()), additivity);
    const auto number = static_cast<int64_t>(d);
    if (wordpiece.splittable())
      cut_document(texts[d], number, pieces);
    else
      pieces.push_back({number, 0, static_cast<int64_t>(texts[d].size())});
  }
  std::mutex joining;
  std::vector<std::vector<int32_t>> ids(pieces.size());  // of pieces of long documents
  const auto n = static_cast<int64_t>(pieces.size());
  parallel_for(n, threads, 8, [&](int64_t p) {
    const Piece& piece = pieces[p];
    thread_local TokenColumns columns;  // its memory serves the next piece of this thread
    columns.size = 0;
    wordpiece.encode(texts[piece.document].data() + piece.begin, piece.end - piece.begin, columns);
    if (keep_ids) ids[p].assign(columns.ids.data(), columns.ids.data() + columns.size);
    TokenIndex& index = indexes[piece.document];
    if (piece.begin == 0 && piece.end == index.bytes()) {
      index.add_tokens(columns.starts.data(), columns.continues.data(), columns.size, 0);
      if (keep_ids) index.set_ids(std::move(ids[p]));
      return;
    }
    // The part's bits start at the word that holds the piece's first byte, so that joining is a matter of words.
    const int64_t shift = piece.begin & 63;
    TokenIndex part(piece.end - piece.begin + shift, additivity);
    part.add_tokens(columns.starts.data(), columns.continues.data(), columns.size, shift);
    const std::lock_guard<std::mutex> lock(joining);
    index.join(part, piece.begin - shift);
  });
  if (keep_ids) join_ids(pieces, ids, indexes);
  return indexes;
}

}  // namespace rc
