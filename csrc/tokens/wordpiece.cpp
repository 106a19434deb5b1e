#include "tokens/wordpiece.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/check.h"
#include "core/parallel.h"
#include "core/spares.h"
#include "tokens/unicode_tables.h"
#include "tokens/wordpiece_scan.h"
#include "tokens/wordpiece_trie.h"
#include "tokens/words.h"

namespace rc {
namespace {

constexpr int kCacheBits = 15;                  // 32,768 pieces, 2 MiB a thread
constexpr int kLongCacheBits = 13;              // 8,192 pieces of many tokens, 1 MiB a thread
constexpr int64_t kTask = int64_t{1} << 20;     // bytes of one task of a batch
constexpr int64_t kWaveTasks = 4;               // tasks a thread in one wave
constexpr int64_t kStretch = int64_t{1} << 16;  // bytes normalised at once for normalised added tokens
constexpr uint32_t kReplacement = 0xFFFD;

struct Place {
  int64_t start, end;  // bytes of the text
};

bool is_continuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// The code point at text[at], and its size in bytes. An invalid part is U+FFFD: a lead byte with as many of its
// continuation bytes as are valid (Unicode's "maximal subpart").
uint32_t decode(const char* text, int64_t at, int64_t end, int* size) {
  const unsigned char* p = reinterpret_cast<const unsigned char*>(text + at);
  const int64_t left = end - at;
  const unsigned char lead = p[0];
  *size = 1;
  if (lead < 0x80) return lead;
  int more;
  unsigned char low = 0x80, high = 0xBF;
  uint32_t c;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
    c = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    c = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;   // overlong
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    c = lead & 0x07;
    if (lead == 0xF0) low = 0x90;   // overlong
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
  } else {
    return kReplacement;
  }
  for (int i = 1; i <= more; i++) {
    if (i >= left || p[i] < low || p[i] > high) return kReplacement;
    c = c << 6 | (p[i] & 0x3F);
    *size = i + 1;
    low = 0x80;
    high = 0xBF;
  }
  return c;
}

int utf8(uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<char>(kLeads[more] | c >> (6 * more));
  for (int i = 1; i <= more; i++) out[i] = static_cast<char>(0x80 | (c >> (6 * (more - i)) & 0x3F));
  return more + 1;
}

bool plain_ascii(const char* text, int64_t size) {
  for (int64_t i = 0; i < size; i++)
    if (text[i] <= ' ' || text[i] == 0x7F) return false;  // char may be signed: what is not ASCII is negative
  return true;
}

// Text may be cut before text[at], at > 0: what is before it is ASCII white space.
bool is_cut(const char* text, int64_t at) { return is_blank(text[at - 1]); }

// White space and word characters beside a match of an added token.
uint8_t flags_before(const char* text, int64_t end, int64_t* start) {
  int64_t at = end - 1;
  while (at > 0 && end - at < 4 && is_continuation(static_cast<unsigned char>(text[at]))) at--;
  int size;
  uint32_t c = decode(text, at, end, &size);
  if (at + size != end) {  // not UTF-8: the last byte alone
    at = end - 1;
    c = kReplacement;
  }
  *start = at;
  return unicode::record(c).flags;
}
uint8_t flags_after(const char* text, int64_t start, int64_t end, int* size) {
  return unicode::record(decode(text, start, end, size)).flags;
}

bool space_at_an_end(const std::string& text) {
  const int64_t size = static_cast<int64_t>(text.size());
  int64_t start;
  int bytes;
  return ((flags_before(text.data(), size, &start) | flags_after(text.data(), 0, size, &bytes)) & unicode::kSpace) != 0;
}

}  // namespace

// Added tokens that are looked for in one form of the text.
struct Matcher {
  Trie trie;  // ids are indices into `added`
  bool first[256] = {};
  bool active = false;  // some match would count
};

struct WordPiece::Scratch {
  std::vector<CachedPiece> cache{size_t{1} << kCacheBits, CachedPiece{}};
  std::vector<CachedLongPiece> long_cache;  // made for the first piece of many tokens

  // The word being built: its normalised bytes and where each of them comes from.
  std::vector<char> word;
  std::vector<Place> places;

  // Marks not yet in canonical order, and the places of the characters that they come from.
  struct Mark {
    uint32_t code_point;
    uint8_t combining_class;
    bool added;  // a further part of the same character's decomposition
  };
  std::vector<Mark> marks;
  std::vector<Place> mark_places;
};

struct WordPiece::Model {
  std::vector<std::string> vocabulary;
  WordPieceOptions options;
  std::unordered_map<std::string, int32_t> added_ids;
  int64_t vocab_size = 0;
  int32_t unk = -1;
  Trie trie;
  int32_t continuing = Trie::kNone;  // where pieces that continue a word begin
  Matcher raw, normalized;
  bool splittable = true;  // text may be cut after white space without changing a match of an added token

  mutable Spares<Scratch> spares;
};

// One call's work: the scan, and everything it does on a miss.
class WordPiece::Encoder {
 public:
  // `out` is null to count only.
  Encoder(const Model& model, TokenColumns* out)
      : model_(model), options_(model.options), scratch_(model.spares.borrow()), s_(*scratch_), out_(out) {
    scan_.cache = s_.cache.data();
    scan_.shift = 64 - kCacheBits;
    scan_.long_cache = s_.long_cache.empty() ? nullptr : s_.long_cache.data();
    scan_.long_shift = 64 - kLongCacheBits;
    scan_.count = out ? out->size : 0;
    scan_.owner = this;
    scan_.grow = [](PieceScan& scan, int64_t more) { static_cast<Encoder*>(scan.owner)->grow(more); };
    scan_.miss = [](PieceScan& scan, int64_t start, int64_t end, uint64_t hash) {
      static_cast<Encoder*>(scan.owner)->miss(start, end, hash);
    };
    if (out) grow(0);
  }
  ~Encoder() { model_.spares.give_back(std::move(scratch_)); }

  // Encodes text[begin, end) as a document of its own; positions count from `text`. Returns the tokens so far.
  int64_t encode(const char* text, int64_t begin, int64_t end) {
    if (model_.raw.active) {
      match(
          model_.raw, text + begin, end - begin, [&](int64_t a, int64_t b) { unmatched(text, begin + a, begin + b); },
          [&](int32_t id, int64_t a, int64_t b) { added(id, {begin + a, begin + b}); });
    } else {
      unmatched(text, begin, end);
    }
    if (out_) out_->size = scan_.count;
    return scan_.count;
  }

  std::string normalized(const std::string& text) {
    std::vector<char> bytes;
    std::vector<Place> places;
    kept_bytes_ = &bytes;
    kept_places_ = &places;
    normalize(text.data(), 0, static_cast<int64_t>(text.size()));
    kept_bytes_ = nullptr;
    return {bytes.begin(), bytes.end()};
  }

 private:
  void grow(int64_t more) {
    out_->reserve(scan_.count + more + 2 * CachedLongPiece::kTokens);
    scan_.ids = out_->ids.data();
    scan_.starts = out_->starts.data();
    scan_.ends = out_->ends.data();
    scan_.continues = out_->continues.data();
  }

  // --- added tokens ---

  // Calls `gap` and `found` for the parts of the text in order. Matches are leftmost and then longest; one that does
  // not count is passed over as a whole.
  template <class Gap, class Found>
  void match(const Matcher& matcher, const char* text, int64_t size, const Gap& gap, const Found& found) {
    int64_t done = 0;
    for (int64_t at = 0; at < size;) {
      int32_t index = -1;
      const int64_t length = matcher.first[static_cast<unsigned char>(text[at])]
                                 ? matcher.trie.longest(matcher.trie.root(), text + at, size - at, &index)
                                 : 0;
      if (length == 0) {
        at++;
        continue;
      }
      const AddedToken& token = options_.added[static_cast<size_t>(index)];
      int64_t start = at, stop = at + length;
      at = stop;
      if (token.special && !options_.encode_special) continue;
      if (token.single_word) {
        int64_t ignored;
        int ignored_size;
        if (start > 0 && (flags_before(text, start, &ignored) & unicode::kWord)) continue;
        if (stop < size && (flags_after(text, stop, size, &ignored_size) & unicode::kWord)) continue;
      }
      if (token.lstrip) {
        for (int64_t before; start > done && (flags_before(text, start, &before) & unicode::kSpace);) start = before;
        start = std::max(start, done);
      }
      if (token.rstrip)
        for (int bytes; stop < size && (flags_after(text, stop, size, &bytes) & unicode::kSpace);) stop += bytes;
      if (done < start) gap(done, start);
      found(token.id, start, stop);
      done = stop;
    }
    if (done != size) gap(done, size);
  }

  void added(int32_t id, Place place) {
    if (out_) grow(1);
    emit(id, place, false);
  }

  // Text without raw added tokens.
  void unmatched(const char* text, int64_t begin, int64_t end) {
    if (!model_.normalized.active) {
      scan_.text = text + begin;
      scan_.size = end - begin;
      scan_.base = begin;
      RC_PICK(scan_pieces)(scan_);
      return;
    }
    while (begin < end) {
      int64_t stop = end;
      if (model_.splittable && end - begin > kStretch) {
        stop = begin + kStretch;
        while (stop < end && !is_cut(text, stop)) stop++;
      }
      normalized_stretch(text, begin, stop);
      begin = stop;
    }
  }

  // Looks for added tokens in the normalised form of text[begin, end), and encodes what is between them.
  void normalized_stretch(const char* text, int64_t begin, int64_t end) {
    std::vector<char> bytes;
    std::vector<Place> places;
    kept_bytes_ = &bytes;
    kept_places_ = &places;
    normalize(text, begin, end);
    kept_bytes_ = nullptr;
    const int64_t size = static_cast<int64_t>(bytes.size());
    if (out_) grow(size);
    match(
        model_.normalized, bytes.data(), size,
        [&](int64_t a, int64_t b) {
          for (int length; a < b; a += length) {
            const uint32_t c = decode(bytes.data(), a, b, &length);
            split(c, places[static_cast<size_t>(a)]);
          }
          end_word();
        },
        [&](int32_t id, int64_t a, int64_t b) {
          added(id, {places[static_cast<size_t>(a)].start, places[static_cast<size_t>(b - 1)].end});
        });
  }

  // --- misses ---

  // Encodes text[start, end) of the scan, a piece between ASCII separators.
  void miss(int64_t start, int64_t end, uint64_t hash) {
    const int64_t size = end - start, first = scan_.count;
    if (size > CachedPiece::kBytes) {
      if (out_) grow(size);
      encode_piece(start, end);
      return;
    }
    // A piece that fits the caches has at most kBytes tokens. They are written out even when only counting.
    int32_t ids[CachedPiece::kBytes];
    int64_t starts[CachedPiece::kBytes], ends[CachedPiece::kBytes];
    uint8_t continues[CachedPiece::kBytes];
    const PieceScan saved = scan_;
    if (!out_) {
      scan_.ids = ids;
      scan_.starts = starts;
      scan_.ends = ends;
      scan_.continues = continues;
      scan_.count = 0;
    }
    const int64_t from = scan_.count;
    encode_piece(start, end);
    const int64_t tokens = scan_.count - from;
    CachedLongPiece* long_cache = scan_.long_cache;
    if (tokens <= CachedPiece::kTokens) {
      keep(s_.cache[hash >> scan_.shift], start, size, from, tokens);
    } else if (tokens <= CachedLongPiece::kTokens) {
      if (s_.long_cache.empty()) s_.long_cache.resize(size_t{1} << kLongCacheBits);
      long_cache = s_.long_cache.data();
      keep(long_cache[hash >> scan_.long_shift], start, size, from, tokens);
    }
    if (!out_) {
      scan_ = saved;
      scan_.count = first + tokens;
    }
    scan_.long_cache = long_cache;
  }

  // Keeps the piece at `start` and its tokens, which are the scan's from row `from` on.
  template <class Entry>
  void keep(Entry& entry, int64_t start, int64_t size, int64_t from, int64_t tokens) {
    entry = Entry{};
    std::memcpy(entry.key, scan_.text + start, static_cast<size_t>(size));
    entry.size = static_cast<uint8_t>(size);
    entry.tokens = static_cast<uint8_t>(tokens);
    for (int64_t i = 0; i < tokens; i++) {
      entry.ids[i] = scan_.ids[from + i];
      entry.starts[i] = static_cast<uint8_t>(scan_.starts[from + i] - scan_.base - start);
      entry.ends[i] = static_cast<uint8_t>(scan_.ends[from + i] - scan_.base - start);
      entry.continues[i] = scan_.continues[from + i];
    }
  }

  void encode_piece(int64_t start, int64_t end) {
    const char* text = scan_.text + start;
    const int64_t size = end - start;
    if (!plain_ascii(text, size)) {
      // Positions count from the text that `base` belongs to.
      normalize(scan_.text - scan_.base, scan_.base + start, scan_.base + end);
      end_word();
      return;
    }
    const int64_t from = scan_.base + start;
    if (size > options_.max_input_chars_per_word) {
      emit(model_.unk, {from, from + size}, false);
      return;
    }
    const char* word = text;
    if (options_.lowercase) {
      if (static_cast<int64_t>(s_.word.size()) < size) s_.word.resize(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; i++) {
        const char c = text[i];
        s_.word[static_cast<size_t>(i)] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      }
      word = s_.word.data();
    }
    longest_pieces(word, size, [from](int64_t i) { return Place{from + i, from + i + 1}; });
  }

  // --- normalisation, one character at a time ---

  void normalize(const char* text, int64_t begin, int64_t end) {
    for (int size; begin < end; begin += size) {
      const uint32_t c = decode(text, begin, end, &size);
      const Place place{begin, begin + size};
      // The common case: a letter that nothing changes, whatever the options are (Hangul is decomposed by arithmetic).
      const unicode::Record& record = unicode::record(c);
      const bool plain = (record.flags & ~unicode::kWord) == 0 && record.combining_class == 0 &&
                         record.decomposition_size == 0 && record.lower_size == 0 && c - 0xAC00 >= 11172;
      if (plain && !kept_bytes_) {
        end_marks();
        place_ = place;
        add_to_word(c, place);
      } else {
        clean(c, place);
      }
    }
    end_marks();
  }

  void clean(uint32_t c, Place place) {
    const uint8_t flags = unicode::record(c).flags;
    if (options_.clean_text) {
      if (flags & unicode::kCleaned) return;
      if (flags & unicode::kSpace) c = ' ';
    }
    if ((flags & unicode::kCjk) && options_.handle_chinese_chars && !kept_bytes_) {
      end_marks();
      end_word();
      decompose(c, place);
      end_word();
    } else if ((flags & unicode::kCjk) && options_.handle_chinese_chars) {
      decompose(' ', place);
      decompose(c, place);
      decompose(' ', place);
    } else {
      decompose(c, place);
    }
  }

  void decompose(uint32_t c, Place place) {
    if (!options_.strip_accents) {
      lower(c, place);
      return;
    }
    const uint32_t syllable = c - 0xAC00;
    if (syllable < 11172) {  // Hangul, by Unicode's arithmetic
      end_marks();
      place_ = place;
      lower(0x1100 + syllable / 588, place);
      lower(0x1161 + syllable % 588 / 28, place);
      if (syllable % 28) lower(0x11A7 + syllable % 28, place);
      return;
    }
    const unicode::Record& record = unicode::record(c);
    if (record.decomposition_size == 0) {
      part(c, record, place, false);
      return;
    }
    for (int i = 0; i < record.decomposition_size; i++) {
      const uint32_t d = unicode::kExpansions[record.decomposition + i];
      part(d, unicode::record(d), place, i > 0);
    }
  }

  // One part of a decomposition. Marks wait until the next starter, because they may have to change places.
  // `tokenizers` then gives places in the new order, one for each first part (`added` parts repeat the last one), so a
  // mark that is kept may get another mark's place; this does the same.
  void part(uint32_t c, const unicode::Record& record, Place place, bool added) {
    if (record.combining_class == 0) {
      end_marks();
      if (!added) place_ = place;
      if (!(record.flags & unicode::kNonspacing)) lower(c, place_);
      return;
    }
    if (!(record.flags & unicode::kNonspacing)) mark_kept_ = true;
    s_.marks.push_back({c, record.combining_class, added});
    if (!added) s_.mark_places.push_back(place);
  }

  void end_marks() {
    if (s_.marks.empty()) return;
    if (mark_kept_) {
      std::stable_sort(s_.marks.begin(), s_.marks.end(), [](const Scratch::Mark& a, const Scratch::Mark& b) {
        return a.combining_class < b.combining_class;
      });
      size_t used = 0;
      for (const Scratch::Mark& mark : s_.marks) {
        if (!mark.added) place_ = s_.mark_places[used++];
        if (!(unicode::record(mark.code_point).flags & unicode::kNonspacing)) lower(mark.code_point, place_);
      }
      mark_kept_ = false;
    } else if (!s_.mark_places.empty()) {
      place_ = s_.mark_places.back();
    }
    s_.marks.clear();
    s_.mark_places.clear();
  }

  void lower(uint32_t c, Place place) {
    if (options_.lowercase) {
      const unicode::Record& record = unicode::record(c);
      if (record.lower_size > 1) {
        for (int i = 0; i < record.lower_size; i++) normal(unicode::kExpansions[record.lower + i], place);
        return;
      }
      c = static_cast<uint32_t>(static_cast<int32_t>(c) + record.lower);
    }
    normal(c, place);
  }

  // A normalised character: kept for matching added tokens, or split into words at once.
  void normal(uint32_t c, Place place) {
    if (!kept_bytes_) {
      split(c, place);
      return;
    }
    char bytes[4];
    const int size = utf8(c, bytes);
    kept_bytes_->insert(kept_bytes_->end(), bytes, bytes + size);
    kept_places_->insert(kept_places_->end(), static_cast<size_t>(size), place);
  }

  // --- words ---

  void split(uint32_t c, Place place) {
    const uint8_t flags = unicode::record(c).flags;
    if (flags & (unicode::kSpace | unicode::kPunctuation)) {
      end_word();
      if (flags & unicode::kSpace) return;
      add_to_word(c, place);
      end_word();
      return;
    }
    add_to_word(c, place);
  }

  void add_to_word(uint32_t c, Place place) {
    if (word_chars_ == 0) word_place_ = place;
    word_place_.end = place.end;
    // Of a word that is too long only the place matters.
    if (++word_chars_ > options_.max_input_chars_per_word) return;
    if (s_.word.size() < word_size_ + 4) s_.word.resize(2 * word_size_ + 64);
    if (s_.places.size() < s_.word.size()) s_.places.resize(s_.word.size());
    const int size = utf8(c, s_.word.data() + word_size_);
    for (int i = 0; i < size; i++) s_.places[word_size_ + static_cast<size_t>(i)] = place;
    word_size_ += static_cast<size_t>(size);
  }

  void end_word() {
    if (word_chars_ == 0) return;
    if (word_chars_ > options_.max_input_chars_per_word) {
      emit(model_.unk, word_place_, false);
    } else {
      const Place* places = s_.places.data();
      longest_pieces(s_.word.data(), static_cast<int64_t>(word_size_), [places](int64_t i) { return places[i]; });
    }
    word_chars_ = 0;
    word_size_ = 0;
  }

  // The word as pieces of the vocabulary, each the longest that fits; the unknown token if they do not cover it.
  template <class PlaceOf>
  void longest_pieces(const char* word, int64_t size, const PlaceOf& place_of) {
    const int64_t first = scan_.count;
    int32_t node = model_.trie.root();
    for (int64_t at = 0; at < size;) {
      int32_t id = -1;
      const int64_t length = node == Trie::kNone ? 0 : model_.trie.longest(node, word + at, size - at, &id);
      if (length == 0) {
        scan_.count = first;
        emit(model_.unk, {place_of(0).start, place_of(size - 1).end}, false);
        return;
      }
      emit(id, {place_of(at).start, place_of(at + length - 1).end}, at > 0);
      at += length;
      node = model_.continuing;
    }
  }

  void emit(int32_t id, Place place, bool continues) {
    if (scan_.ids) {
      scan_.ids[scan_.count] = id;
      scan_.starts[scan_.count] = place.start;
      scan_.ends[scan_.count] = place.end;
      scan_.continues[scan_.count] = continues;
    }
    scan_.count++;
  }

 private:
  const Model& model_;
  const WordPieceOptions& options_;
  std::unique_ptr<Scratch> scratch_;
  Scratch& s_;
  TokenColumns* out_;
  PieceScan scan_{};

  int64_t word_chars_ = 0;
  size_t word_size_ = 0;
  Place word_place_{};
  Place place_{};           // of the last character whose decomposition was begun
  bool mark_kept_ = false;  // a waiting mark is not dropped by strip_accents
  std::vector<char>* kept_bytes_ = nullptr;
  std::vector<Place>* kept_places_ = nullptr;
};

WordPiece::WordPiece(std::vector<std::string> vocabulary, WordPieceOptions options)
    : model_(std::make_unique<Model>()) {
  Model& m = *model_;
  check(!vocabulary.empty(), "vocab", "must not be empty");
  check(vocabulary.size() < (size_t{1} << 28), "vocab", "must have fewer than 2^28 tokens");
  check(options.max_input_chars_per_word >= 0, "max_input_chars_per_word", "must not be negative");
  m.vocabulary = std::move(vocabulary);
  m.options = std::move(options);

  std::vector<int32_t> ids(m.vocabulary.size());
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int32_t>(i);
  std::unordered_map<std::string, int32_t> known;
  known.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); i++)
    check(known.emplace(m.vocabulary[i], ids[i]).second, "vocab", "must not repeat a token: '" + m.vocabulary[i] + "'");
  check(known.count(m.options.unk) == 1, "unk", "must be in the vocabulary: '" + m.options.unk + "'");
  m.unk = known[m.options.unk];
  m.trie.build(m.vocabulary, ids);
  m.continuing = m.trie.walk(m.options.prefix);

  m.vocab_size = static_cast<int64_t>(ids.size());
  const bool strips = std::any_of(m.options.added.begin(), m.options.added.end(),
                                  [](const AddedToken& token) { return token.lstrip || token.rstrip; });
  std::vector<std::string> patterns[2];
  std::vector<int32_t> indices[2];
  for (size_t i = 0; i < m.options.added.size(); i++) {
    const AddedToken& token = m.options.added[i];
    check(!token.content.empty(), "added", "must not hold an empty token");
    check(m.added_ids.emplace(token.content, token.id).second, "added",
          "must not repeat a token: '" + token.content + "'");
    const auto place = known.find(token.content);
    check(place != known.end() ? place->second == token.id : token.id >= static_cast<int64_t>(ids.size()), "added",
          "must give a token of the vocabulary its own id, and others ids after it: '" + token.content + "'");
    m.vocab_size = std::max(m.vocab_size, int64_t{token.id} + 1);
    std::string pattern = token.content;
    if (token.normalized) pattern = Encoder(m, nullptr).normalized(pattern);
    check(!pattern.empty(), "added", "must not hold a token that normalises to nothing: '" + token.content + "'");
    // Stripped white space would overlap with such a token; `tokenizers` then repeats tokens or panics.
    check(!strips || !space_at_an_end(pattern), "added",
          "must not hold a token that begins or ends with white space beside one that strips white space");
    const bool counts = !token.special || m.options.encode_special;
    Matcher& matcher = token.normalized ? m.normalized : m.raw;
    matcher.first[static_cast<unsigned char>(pattern[0])] = true;
    matcher.active |= counts;
    if (token.lstrip || token.rstrip) m.splittable = false;
    if (pattern.find_first_of(" \t\n\r") != std::string::npos) m.splittable = false;
    patterns[token.normalized].push_back(pattern);
    indices[token.normalized].push_back(static_cast<int32_t>(i));
  }
  for (int kind = 0; kind < 2; kind++) {
    std::vector<std::string> sorted = patterns[kind];
    std::sort(sorted.begin(), sorted.end());
    check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "added",
          "must not hold two tokens with the same normalised form");
    (kind ? m.normalized : m.raw).trie.build(patterns[kind], indices[kind]);
  }
}

WordPiece::~WordPiece() = default;

void WordPiece::encode(const char* text, int64_t size, TokenColumns& out) const {
  Encoder(*model_, &out).encode(text, 0, size);
}

int64_t WordPiece::count(const char* text, int64_t size) const {
  return Encoder(*model_, nullptr).encode(text, 0, size);
}

namespace {

// A run of documents, or a part of one: what a thread takes at a time.
struct Task {
  int64_t document, documents;  // [document, document + documents)
  int64_t begin, end;           // of the only document; -1, -1: whole documents
};

std::vector<Task> tasks_of(const char* const* texts, const int64_t* sizes, int64_t n, bool splittable) {
  std::vector<Task> tasks;
  int64_t held = 0;  // bytes in the last task, if it takes whole documents and more may join
  for (int64_t d = 0; d < n; d++) {
    if (splittable && sizes[d] > 2 * kTask) {
      for (int64_t begin = 0; begin < sizes[d];) {
        int64_t end = std::min(begin + kTask, sizes[d]);
        while (end < sizes[d] && !is_cut(texts[d], end)) end++;
        tasks.push_back({d, 1, begin, end});
        begin = end;
      }
      held = kTask + 1;  // not even an empty document joins a part of one
    } else if (tasks.empty() || held + sizes[d] > kTask) {
      tasks.push_back({d, 1, -1, -1});
      held = sizes[d];
    } else {
      tasks.back().documents++;
      held += sizes[d];
    }
  }
  return tasks;
}

}  // namespace

void WordPiece::encode(const char* const* texts, const int64_t* sizes, int64_t n, int threads, TokenColumns& out,
                       int64_t* offsets) const {
  offsets[0] = out.size;
  if (threads <= 1) {
    Encoder encoder(*model_, &out);
    for (int64_t d = 0; d < n; d++) offsets[d + 1] = encoder.encode(texts[d], 0, sizes[d]);
    return;
  }
  // In waves, so that the columns that wait to be copied stay few.
  const std::vector<Task> tasks = tasks_of(texts, sizes, n, model_->splittable);
  const int64_t total = static_cast<int64_t>(tasks.size()), wave = kWaveTasks * threads;
  std::vector<TokenColumns> parts(static_cast<size_t>(std::min(wave, total)));
  std::vector<int64_t> places(parts.size());
  for (int64_t first = 0; first < total; first += wave) {
    const int64_t count = std::min(wave, total - first);
    parallel_for(count, threads, 1, [&](int64_t i) {
      const Task& task = tasks[static_cast<size_t>(first + i)];
      TokenColumns& part = parts[static_cast<size_t>(i)];
      part.size = 0;
      Encoder encoder(*model_, &part);
      if (task.begin >= 0) {
        encoder.encode(texts[task.document], task.begin, task.end);
      } else {
        for (int64_t d = task.document; d < task.document + task.documents; d++)
          offsets[d + 1] = encoder.encode(texts[d], 0, sizes[d]);
      }
    });
    for (int64_t i = 0; i < count; i++) {
      const Task& task = tasks[static_cast<size_t>(first + i)];
      places[static_cast<size_t>(i)] = out.size;
      out.size += parts[static_cast<size_t>(i)].size;
      if (task.begin >= 0) {
        offsets[task.document + 1] = out.size;
      } else {
        for (int64_t d = task.document; d < task.document + task.documents; d++)
          offsets[d + 1] += places[static_cast<size_t>(i)];
      }
    }
    out.reserve(out.size);
    parallel_for(count, threads, 1, [&](int64_t i) {
      const TokenColumns& part = parts[static_cast<size_t>(i)];
      const int64_t at = places[static_cast<size_t>(i)];
      const size_t rows = static_cast<size_t>(part.size);
      if (rows == 0) return;
      std::memcpy(out.ids.data() + at, part.ids.data(), rows * sizeof(int32_t));
      std::memcpy(out.starts.data() + at, part.starts.data(), rows * sizeof(int64_t));
      std::memcpy(out.ends.data() + at, part.ends.data(), rows * sizeof(int64_t));
      std::memcpy(out.continues.data() + at, part.continues.data(), rows);
    });
  }
}

void WordPiece::count(const char* const* texts, const int64_t* sizes, int64_t n, int threads, int64_t* counts) const {
  const std::vector<Task> tasks = tasks_of(texts, sizes, n, model_->splittable && threads > 1);
  std::vector<int64_t> parts(tasks.size());
  parallel_for(static_cast<int64_t>(tasks.size()), threads, 1, [&](int64_t i) {
    const Task& task = tasks[static_cast<size_t>(i)];
    Encoder encoder(*model_, nullptr);
    if (task.begin >= 0) {
      parts[static_cast<size_t>(i)] = encoder.encode(texts[task.document], task.begin, task.end);
      return;
    }
    int64_t before = 0;
    for (int64_t d = task.document; d < task.document + task.documents; d++) {
      const int64_t now = encoder.encode(texts[d], 0, sizes[d]);
      counts[d] = now - before;
      before = now;
    }
  });
  for (size_t i = 0; i < tasks.size(); i++) {
    if (tasks[i].begin == 0) counts[tasks[i].document] = 0;
    if (tasks[i].begin >= 0) counts[tasks[i].document] += parts[i];
  }
}

bool WordPiece::splittable() const { return model_->splittable; }
bool WordPiece::matches_added() const { return model_->raw.active || model_->normalized.active; }
int64_t WordPiece::vocab_size() const { return model_->vocab_size; }
int32_t WordPiece::unk_id() const { return model_->unk; }
const std::vector<std::string>& WordPiece::vocabulary() const { return model_->vocabulary; }
const WordPieceOptions& WordPiece::options() const { return model_->options; }

int32_t WordPiece::token_to_id(const std::string& token) const {
  const auto added = model_->added_ids.find(token);
  if (added != model_->added_ids.end()) return added->second;
  if (token.empty()) {
    for (size_t i = 0; i < model_->vocabulary.size(); i++)
      if (model_->vocabulary[i].empty()) return static_cast<int32_t>(i);
    return -1;
  }
  const int32_t node = model_->trie.walk(token);
  return node == Trie::kNone ? -1 : model_->trie.id(node);
}

}  // namespace rc
