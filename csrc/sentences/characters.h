// What the scanner asks about characters and words: kinds of code points, and the classes of words in words.txt.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "sentences/tables.h"

namespace rc {

using sentence_tables::Kind;

// A code point of valid UTF-8 and the number of its bytes.
struct Character {
  uint32_t code;
  int bytes;
};

inline Character decode(const unsigned char* text, int64_t at, int64_t size) {
  const unsigned char lead = text[at];
  if (lead < 0x80) return {lead, 1};
  const int bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (at + bytes > size) return {0xFFFD, 1};  // not valid UTF-8: never read beyond the end
  uint32_t code = lead & (0x7F >> bytes);
  for (int i = 1; i < bytes; ++i) code = code << 6 | (text[at + i] & 63u);
  return {code, bytes};
}

// The start of the character that ends before `at`, which is > 0.
inline int64_t before(const unsigned char* text, int64_t at) {
  int64_t i = at - 1;
  while (i > 0 && at - i < 4 && (text[i] & 0xC0) == 0x80) --i;
  return i;
}

inline Kind search_kind(uint32_t code) {
  const uint32_t* first = sentence_tables::range_start;
  const uint32_t* after = std::upper_bound(first, first + sentence_tables::range_count, code);
  return static_cast<Kind>(sentence_tables::range_kind[after - first - 1]);
}

struct AsciiKinds {
  Kind kinds[128] = {};
  constexpr AsciiKinds() {
    for (uint32_t code = 0, range = 0; code < 128; ++code) {
      while (sentence_tables::range_start[range + 1] <= code) ++range;
      kinds[code] = static_cast<Kind>(sentence_tables::range_kind[range]);
    }
  }
};
inline constexpr AsciiKinds ascii_kinds;

// Which ASCII characters are letters or digits, and which may stand inside a word with a full stop ("e.g.", "c/o").
struct AsciiWords {
  bool alphanumeric[128] = {}, inside[128] = {};
  constexpr AsciiWords() {
    for (int code = 0; code < 128; ++code) {
      const Kind kind = ascii_kinds.kinds[code];
      alphanumeric[code] = kind == Kind::upper || kind == Kind::lower || kind == Kind::letter || kind == Kind::digit;
      inside[code] = alphanumeric[code] || code == '.' || code == '-' || code == '\'' || code == '/';
    }
  }
};
inline constexpr AsciiWords ascii_words;

// ASCII and the first 16384 code points by table, the others by binary search.
inline Kind kind_of(uint32_t code) {
  if (code < 128) return ascii_kinds.kinds[code];
  constexpr uint32_t tabled = 0x4000;
  static const std::array<Kind, tabled> table = [] {
    std::array<Kind, tabled> kinds{};
    for (uint32_t i = 0; i < tabled; ++i) kinds[i] = search_kind(i);
    return kinds;
  }();
  return code < tabled ? table[code] : search_kind(code);
}

inline bool is_alphanumeric(Kind kind) {
  return kind == Kind::upper || kind == Kind::lower || kind == Kind::letter || kind == Kind::digit;
}

// The classes (…_word bits) of a word in a language; 0 when it is not in words.txt.
inline unsigned word_classes(const char* word, int64_t bytes, int language) {
  using namespace sentence_tables;
  if (bytes <= 0 || bytes > longest_word) return 0;
  uint32_t hash = 2166136261u;
  for (int64_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(word[i])) * 16777619u;
  for (uint32_t slot = hash % slot_count; slots[slot] >= 0; slot = (slot + 1) % slot_count) {
    const int number = slots[slot];
    const int64_t length = word_offset[number + 1] - word_offset[number];
    if (length == bytes && std::memcmp(word_text + word_offset[number], word, static_cast<size_t>(bytes)) == 0)
      return profiles[word_profile[number]][language];
  }
  return 0;
}

}  // namespace rc
