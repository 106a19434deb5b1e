#include "sentences/sentences.h"

#include <cstring>
#include <string>

#include "core/check.h"
#include "sentences/candidates.h"
#include "sentences/characters.h"

namespace rc {
namespace {

using namespace sentence_tables;

constexpr int64_t longest_quote = 1024;  // bytes that one pair of quotes or brackets holds together
constexpr int word_reach = 32;           // characters that are read of a word before or after a full stop

constexpr unsigned abbreviation_words = title_word | number_word | company_word | loose_word | time_word;

// Languages that write ordinal numbers with a full stop ("am 3. Oktober", "Ludwig XIV.").
bool writes_ordinals(int language) {
  static const char* const codes[] = {"de", "da", "nb", "fi", "is", "et", "lv", "cs",
                                      "sk", "sl", "hr", "sr", "hu", "tr", "pl"};
  for (const char* code : codes)
    if (std::strcmp(languages[language], code) == 0) return true;
  return false;
}

// Whether the code is one of these.
template <char... ascii>
constexpr bool in(uint32_t code) {
  return ((code == static_cast<uint32_t>(ascii)) || ...);
}

bool is_ascii_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
bool is_visible_ascii(unsigned char c) { return c > ' ' && c < 0x7F; }

// The bracket or quote that closes what `code` opens; 0 for what opens nothing.
uint32_t closing(uint32_t code) {
  switch (code) {
    case '(': return ')';
    case '[': return ']';
    case '"': return '"';
    case 0x201C: return 0x201D;
    case 0x201E: return 0x201C;
    case 0xAB: return 0xBB;
    case 0xBB: return 0xAB;
    case 0x300C:
    case 0x300E:
    case 0x3008:
    case 0x300A:
    case 0x3010: return code + 1;
    case 0xFF08: return 0xFF09;
    case 0xFF3B: return 0xFF3D;
    case 0xFF62: return 0xFF63;
    default: return 0;
  }
}

// A list item at the beginning of a sentence: "3." "b)" "iv.". Letters have a value as a letter and as a Roman number.
struct Marker {
  int64_t end = 0;  // after the marker and its ")" or "."
  int number = 0, letter = 0, roman = 0;
  char style = 0;  // '.' or ')', or 0 when there is no marker
};

// The sentence that is being read.
struct Sentence {
  int64_t start = 0;
  int64_t item = 0;         // the same after bullets
  bool whole_line = false;  // a heading, a rule or a table row: it ends with its line
  Marker list;              // the list marker that it begins with
};

struct Opened {
  uint32_t closing;
  int64_t at;
  size_t sentences;   // how many were written before
  Sentence sentence;  // in which it opened
};

int roman_value(const unsigned char* text, int64_t size) {
  int total = 0, last = 0;
  for (int64_t i = size - 1; i >= 0; --i) {
    const int lower = text[i] | 32;
    const int value = lower == 'i' ? 1 : lower == 'v' ? 5 : lower == 'x' ? 10 : 0;
    if (!value) return 0;
    total += value < last ? -value : value;
    if (value > last) last = value;
  }
  return total;
}

struct Gap {
  int64_t end;
  int newlines;
};

class Scanner {
 public:
  Scanner(const char* text, int64_t size, int language, bool newline_is_boundary, std::vector<Span>& out)
      : text_(reinterpret_cast<const unsigned char*>(text)),
        size_(size),
        language_(language),
        newline_is_boundary_(newline_is_boundary),
        ordinals_(writes_ordinals(language)),
        out_(out) {}

  void run() {
    begin(skip_space(0).end, true);
    at_ = sentence_.start;
    const auto candidate_masks = RC_PICK(candidate_masks);
    constexpr int blocks = 64;
    uint64_t masks[blocks];
    unsigned char tail[64];
    for (int64_t base = 0; base < size_; base += 64 * blocks) {
      const int whole = static_cast<int>(std::min<int64_t>(blocks, (size_ - base) / 64));
      candidate_masks(text_ + base, whole, masks);
      int count = whole;
      const int64_t left = size_ - base - 64 * whole;
      if (whole < blocks && left > 0) {
        std::memset(tail, 0, sizeof tail);
        std::memcpy(tail, text_ + base + 64 * whole, static_cast<size_t>(left));
        candidate_masks(tail, 1, masks + whole);
        ++count;
      }
      for (int b = 0; b < count; ++b) {
        for (uint64_t mask = masks[b]; mask; mask &= mask - 1) {
          const int64_t i = base + 64 * b + __builtin_ctzll(mask);
          if (i >= at_) visit(i);
        }
      }
    }
    if (sentence_.start < size_) end_sentence(trim(size_), size_, true);
  }

 private:
  // ---- characters ----

  Character character(int64_t i) const { return decode(text_, i, size_); }
  Kind kind_at(int64_t i) const { return i < size_ ? kind_of(character(i).code) : Kind::newline; }
  uint32_t code_at(int64_t i) const { return i < size_ ? character(i).code : 0; }
  int64_t previous(int64_t i) const { return before(text_, i); }
  Kind kind_before(int64_t i) const { return i > 0 ? kind_at(previous(i)) : Kind::newline; }
  bool is_space_at(int64_t i) const {
    const Kind kind = kind_at(i);
    return kind == Kind::space || kind == Kind::newline;
  }

  // White space from i on. A space that carries a combining mark is no white space: the two are one character to a
  // reader.
  Gap skip_space(int64_t i) const {
    if (i + 1 < size_ && is_visible_ascii(text_[i + 1])) {  // a single space or line feed
      if (text_[i] == ' ') return {i + 1, 0};
      if (text_[i] == '\n') return {i + 1, !(i > 0 && text_[i - 1] == '\r')};
    }
    int newlines = 0;
    int64_t last_space = -1;
    while (i < size_) {
      const Character c = character(i);
      const Kind kind = kind_of(c.code);
      if (kind == Kind::newline) {
        newlines += !(c.code == '\n' && i > 0 && text_[i - 1] == '\r');
        if (c.code == 0x2029) ++newlines;  // a paragraph separator is a blank line
      } else if (kind == Kind::mark && last_space >= 0) {
        return {last_space, newlines};
      } else if (kind != Kind::space) {
        break;
      }
      last_space = kind == Kind::space && c.code >= 0x20 ? i : -1;
      i += c.bytes;
    }
    return {i, newlines};
  }

  int64_t trim(int64_t end) const {
    while (end > sentence_.start && is_space_at(previous(end))) end = previous(end);
    return end;
  }

  // ---- sentences ----

  // The next sentence begins at `start`; `line_start` says that a line begins there as well.
  void begin(int64_t start, bool line_start) {
    int64_t item = start;
    while (item < size_ && (kind_at(item) == Kind::bullet || text_[item] == ' ' || text_[item] == '\t'))
      item += character(item).bytes;
    sentence_ = {start, item, line_start && is_whole_line(start), marker_at(item)};
  }

  // Writes the sentence that ends at `end`. A hard end is one that no closing quote or bracket may undo.
  void end_sentence(int64_t end, int64_t next, bool hard, bool line_start = false) {
    if (end > sentence_.start) out_.push_back({sentence_.start, end});
    if (hard) opened_count_ = 0;
    begin(next, line_start);
    at_ = next;
  }

  // Lines that stand alone: "# heading", "-----", "| table | row |".
  bool is_whole_line(int64_t i) const {
    if (i >= size_) return false;
    const unsigned char c = text_[i];
    if (c == '|') return true;
    if (!in<'#', '-', '=', '_', '*', '~', '+', '/'>(c)) return false;
    int64_t j = i;
    while (j < size_ && text_[j] == c) ++j;
    if (c == '#' && j - i <= 6 && j < size_ && (text_[j] == ' ' || text_[j] == '\t')) return true;
    if (j - i < 3) return false;
    while (j < size_ && (text_[j] == ' ' || text_[j] == '\t')) ++j;
    return j == size_ || text_[j] == '\n' || text_[j] == '\r';
  }

  // "12." "b)" "iv.)" "(3)" at i, with white space after it.
  Marker marker_at(int64_t i) const {
    Marker m;
    if (i + 1 < size_ && is_ascii_letter(text_[i]) && !in<'i', 'v', 'x'>(text_[i] | 32) && !in<'.', ')'>(text_[i + 1]))
      return m;  // most words
    const bool bracket = i < size_ && text_[i] == '(';
    const int64_t first = i + bracket;
    int64_t j = first;
    while (j < size_ && j - first < 3 && text_[j] >= '0' && text_[j] <= '9')
      m.number = m.number * 10 + text_[j++] - '0';
    if (j == first) {
      while (j < size_ && j - first < 5 && is_ascii_letter(text_[j])) ++j;
      if (j == first) return {};
      if (j - first == 1) m.letter = (text_[first] | 32) - 'a' + 1;
      m.roman = roman_value(text_ + first, j - first);
      if (!m.letter && !m.roman) return {};
    }
    if (j >= size_) return {};
    if (text_[j] == ')') {
      m.style = ')';
      ++j;
    } else if (text_[j] == '.' && !bracket) {
      m.style = '.';
      ++j;
      if (j < size_ && text_[j] == ')') ++j;
    }
    if (!m.style || j >= size_ || !is_space_at(j)) return {};
    m.end = j;
    return m;
  }

  // A line that begins at i begins a list item, a heading, a table row or a rule.
  bool begins_block(int64_t i) const {
    if (is_ascii_letter(text_[i])) {
      const Marker m = marker_at(i);
      return m.style == ')' ||
             (m.style && text_[i] >= 'a');  // "b. pears", but not "J. Smith" wrapped before the initial
    }
    const Character c = character(i);
    const Kind kind = kind_of(c.code);
    const bool spaced = i + c.bytes < size_ && is_space_at(i + c.bytes);
    if (kind == Kind::bullet || is_whole_line(i)) return true;
    if ((kind == Kind::dash || c.code == '*' || c.code == '+') && spaced) return true;
    const Marker m = marker_at(i);
    return m.style && (m.number || c.code == '(' || m.style == ')');
  }

  bool is_hard(const Gap& gap) const {
    return gap.newlines >= 2 || (gap.newlines == 1 && (newline_is_boundary_ || sentence_.whole_line ||
                                                       (gap.end < size_ && begins_block(gap.end))));
  }

  // ---- quotes and brackets ----

  void open(uint32_t closing_code, int64_t i) {
    if (opened_count_ == max_opened) {
      std::memmove(opened_, opened_ + 1, sizeof(Opened) * (max_opened - 1));
      --opened_count_;
    }
    opened_[opened_count_++] = {closing_code, i, out_.size(), sentence_};
  }

  // Undoes the ends of sentences inside the quotes or brackets that `code` at i closes. False when nothing is open for
  // it.
  bool close(uint32_t code, int64_t i) {
    for (int k = opened_count_ - 1; k >= 0; --k) {
      const uint32_t wanted = opened_[k].closing;
      if (wanted != code && !(wanted == 0x201C && code == 0x201D)) continue;
      opened_count_ = k;
      if (out_.size() > opened_[k].sentences && i - opened_[k].at <= longest_quote) {
        out_.resize(opened_[k].sentences);
        sentence_ = opened_[k].sentence;
      }
      return true;
    }
    return false;
  }

  bool is_open(uint32_t code) const {
    for (int k = 0; k < opened_count_; ++k)
      if (opened_[k].closing == code || (opened_[k].closing == 0x201C && code == 0x201D)) return true;
    return false;
  }

  // ":)" ";-(": a bracket that is no bracket.
  bool mouth_of_smiley(int64_t i) const {
    int64_t j = i;
    if (j > sentence_.start && text_[j - 1] == '-') --j;
    if (j == sentence_.start || !in<':', ';', '='>(text_[j - 1])) return false;
    return j - 1 == sentence_.start || is_space_at(previous(j - 1));
  }

  // A smiley ends a sentence without a full stop when a capital letter follows.
  void after_smiley(int64_t i) {
    while (at_ < size_ && in<'(', ')'>(text_[at_])) ++at_;
    if (is_open(text_[i])) return;
    const int64_t end = at_;
    const Gap gap = skip_space(end);
    if (gap.end >= size_ || gap.end == end) return;
    if (is_hard(gap)) return end_sentence(end, gap.end, true, gap.newlines > 0);
    if (kind_at(gap.end) == Kind::upper) end_sentence(end, gap.end, false);
  }

  // A quote or bracket that no full stop precedes.
  void quote_or_bracket(int64_t i, Character c) {
    at_ = i + c.bytes;
    if (c.code == ')' && inline_item(i)) return;
    if ((c.code == '(' || c.code == ')') && mouth_of_smiley(i)) return after_smiley(i);
    const uint32_t other = closing(c.code);
    const bool two_faced = c.code == '"' || c.code == 0x201C || c.code == 0xAB || c.code == 0xBB;
    if (!other) {
      close(c.code, i);
    } else if (!two_faced) {
      open(other, i);
    } else {
      const Kind left = kind_before(i);
      const bool after_gap = left == Kind::space || left == Kind::newline || left == Kind::open ||
                             left == Kind::quote || left == Kind::dash;
      const bool before_gap = at_ >= size_ || is_space_at(at_);
      if (c.code != '"') {
        if (!is_open(c.code) || !close(c.code, i)) {
          if (after_gap || c.code == 0x201C) open(other, i);
        }
      } else if (after_gap && !before_gap) {
        open(other, i);
      } else if (!close(c.code, i) && after_gap && before_gap) {
        open(other, i);
      }
    }
  }

  // ---- full stops ----

  struct Run {
    int64_t first_end, end;  // of the first stops without a space between them, and of all
    int dots = 0, groups = 1;
    bool strong = false, wide = false, stop = false;
  };

  int64_t stops(int64_t i, Run& run) const {
    while (i < size_) {
      const Character c = character(i);
      const Kind kind = kind_of(c.code);
      if (c.code == '.') {
        ++run.dots;
      } else if (kind == Kind::dots) {
        run.dots += 3;
      } else if (kind == Kind::strong) {
        run.strong = true;
      } else if (kind == Kind::wide) {
        run.wide = true;
      } else if (kind == Kind::stop || is_letter_stop(i)) {
        run.stop = true;
      } else if (kind != Kind::mark) {
        break;
      }
      i += c.bytes;
    }
    return i;
  }

  bool is_stop_at(int64_t i) const {
    const Character c = character(i);
    const Kind kind = kind_of(c.code);
    return c.code == '.' || kind == Kind::dots || kind == Kind::strong;
  }

  // The Greek question mark is typed as a semicolon, the Armenian full stop as a colon: after a letter of the script.
  bool is_letter_stop(int64_t i) const {
    if (i == 0 || (text_[i] != ';' && text_[i] != ':') || is_visible_ascii(text_[i - 1])) return false;
    int64_t j = previous(i);
    Character c = character(j);
    if (text_[i] == ':' && c.code == ' ' && j > 0) c = character(j = previous(j));
    if (text_[i] == ';') return (c.code >= 0x370 && c.code < 0x400) || (c.code >= 0x1F00 && c.code < 0x2000);
    return (c.code >= 0x531 && c.code < 0x590) || c.code == 0x2026;
  }

  // Quotes, brackets, emphasis and footnote numbers right after a full stop belong to its sentence.
  int64_t closers(int64_t i, Run& run, bool& closed) {
    while (i < size_) {
      const Character c = character(i);
      const Kind kind = kind_of(c.code);
      const int64_t after = i + c.bytes;
      if (kind == Kind::close) {
        close(c.code, i);
        closed = true;
      } else if (kind == Kind::quote) {
        const bool always = c.code == 0x201D || c.code == 0x2019 || c.code == 0xFF02;
        if (!always && is_alphanumeric(kind_at(after)) && !(c.code != '"' && is_open(c.code))) break;
        close(c.code, i);
        closed = true;
      } else if (c.code == '*' || c.code == '_') {
        // emphasis
      } else if (c.code == '[' && !run.wide) {
        int64_t j = after;
        while (j < size_ && j - after < 8 && (is_alphanumeric(kind_of(text_[j])) && text_[j] < 0x80)) ++j;
        if (j == after || j >= size_ || text_[j] != ']') break;
        i = j + 1;
        continue;
      } else if (c.code == 0xB9 || c.code == 0xB2 || c.code == 0xB3 || (c.code >= 0x2070 && c.code <= 0x2079)) {
        // a footnote number
      } else if (closed && (c.code == '.' || kind == Kind::strong || kind == Kind::wide || kind == Kind::stop)) {
        i = stops(i, run);
        continue;
      } else if (kind != Kind::mark) {
        break;
      }
      i = after;
    }
    return i;
  }

  // The end of a smiley or of emoji at i; i when there is none.
  int64_t smiley(int64_t i) const {
    int64_t j = i;
    if (i + 1 < size_ && in<':', ';', '='>(text_[i])) {
      ++j;
      if (text_[j] == '-' || text_[j] == '\'') ++j;
      const int64_t mouth = j;
      while (j < size_ && in<')', '(', 'D', 'P', 'p', '|', '/'>(text_[j])) ++j;
      if (j == mouth || (j < size_ && is_alphanumeric(kind_at(j)))) return i;
      return j;
    }
    while (j < size_) {
      const Character c = character(j);
      const Kind kind = kind_of(c.code);
      if (kind != Kind::emoji && !(j > i && kind == Kind::mark)) break;
      j += c.bytes;
    }
    return j;
  }

  // The end of what belongs to the sentence before it, at i after a space: a closing quote or bracket, a smiley, emoji,
  // or a footnote number in brackets. i when there is none.
  int64_t trailer(int64_t i, Run& run, bool& closed) {
    const Character c = character(i);
    const Kind kind = kind_of(c.code);
    const bool two_faced = c.code == '"' || c.code == 0x201C;
    if ((kind == Kind::close || kind == Kind::quote) && is_open(c.code) &&
        !(two_faced && i + c.bytes < size_ && !is_space_at(i + c.bytes)))
      return closers(i, run, closed);
    if (c.code == '[') {
      int64_t j = i + 1;
      while (j < size_ && j - i < 5 && text_[j] >= '0' && text_[j] <= '9') ++j;
      return j > i + 1 && j < size_ && text_[j] == ']' ? j + 1 : i;
    }
    return smiley(i);
  }

  struct Next {
    int64_t word;  // the first character that tells something
    Kind kind;
    uint32_t code;
    bool opened = false, bracket = false, dash = false;
  };

  // Looks past quotes, brackets, bullets, emphasis and dashes.
  Next look(int64_t i) const {
    Next next{i, Kind::newline, 0};
    for (int steps = 0; steps < 8 && next.word < size_; ++steps) {
      const Character c = character(next.word);
      const Kind kind = kind_of(c.code);
      const int64_t after = next.word + c.bytes;
      if (kind == Kind::open || kind == Kind::quote || kind == Kind::inverted || kind == Kind::bullet ||
          c.code == '*' || c.code == '_') {
        next.opened = true;
        next.bracket |= kind == Kind::open;
      } else if (kind == Kind::dash &&
                 (next.dash || kind_at(after) == Kind::dash || (after < size_ && is_space_at(after)))) {
        next.dash = true;
      } else if (!(kind == Kind::space && (next.dash || next.opened))) {
        break;
      }
      next.word = after;
    }
    next.kind = kind_at(next.word);
    next.code = code_at(next.word);
    return next;
  }

  // The classes of the word that begins at i.
  unsigned classes_after(int64_t i) const {
    if (i >= size_) return 0;
    int64_t end = i, apostrophe = -1;
    for (int steps = 0; steps < word_reach && end < size_; ++steps) {
      if (text_[end] < 0x80 && ascii_words.alphanumeric[text_[end]]) {
        ++end;
        continue;
      }
      const Character c = character(end);
      const Kind kind = kind_of(c.code);
      if ((c.code == '\'' || c.code == 0x2019) && apostrophe < 0) {
        apostrophe = end;
      } else if (!is_alphanumeric(kind) && kind != Kind::mark) {
        break;
      }
      end += c.bytes;
    }
    // "A. A. Milne": an initial, not the article
    if (end < size_ && text_[end] == '.' && end == i + character(i).bytes) return 0;
    unsigned classes = classes_of(i, end);
    if (!classes && apostrophe > i) classes = classes_of(i, apostrophe);
    return classes;
  }

  unsigned classes_of(int64_t begin, int64_t end) const {
    return word_classes(reinterpret_cast<const char*>(text_ + begin), end - begin, language_);
  }

  // The beginning of the word that ends at `end`: letters, digits, and the signs that stand inside abbreviations.
  int64_t word_before(int64_t end) const {
    int64_t i = end;
    for (int steps = 0; steps < word_reach && i > sentence_.start; ++steps) {
      if (text_[i - 1] < 0x80) {
        if (!ascii_words.inside[text_[i - 1]]) break;
        --i;
        continue;
      }
      const int64_t j = previous(i);
      const Character c = character(j);
      const Kind kind = kind_of(c.code);
      if (!is_alphanumeric(kind) && kind != Kind::mark && c.code != 0x2019 && c.code != 0xB0 && c.code != 0xBA) break;
      i = j;
    }
    return i;
  }

  // The word before a full stop, as is_abbreviation judges it.
  struct Word {
    int64_t begin, end;
    bool digits = true, roman = true;
    int letters = 0;
  };

  // The word before the full stop at i; text that was split into tokens has a space between them ("Mr . Robinson").
  Word word_at(int64_t i) const {
    Word word{0, i > sentence_.start && text_[i - 1] == ' ' ? i - 1 : i};
    word.begin = word_before(word.end);
    while (word.begin < word.end && text_[word.begin] == '-') ++word.begin;
    for (int64_t j = word.begin; j < word.end;) {
      const Character c = character(j);
      word.digits &= c.code >= '0' && c.code <= '9';
      word.roman &= in<'I', 'V', 'X', 'L', 'C'>(c.code);
      ++word.letters;
      j += c.bytes;
    }
    return word;
  }

  // The classes of a word, or of its last part after a full stop, hyphen, apostrophe or slash.
  unsigned classes_before(const Word& word) const {
    unsigned classes = classes_of(word.begin, word.end);
    if (classes || word.letters == 1) return classes;
    int64_t part = word.end;
    while (part > word.begin && !in<'.', '-', '\'', '/'>(text_[part - 1])) --part;
    if (part == word.begin || part == word.end) return 0;
    const Character first = character(part);
    if (part + first.bytes < word.end) classes = classes_of(part, word.end);
    // "U.S", "i.v": parts of one or two letters
    int length = 0;
    for (int64_t j = word.end; j > word.begin;) {
      j = previous(j);
      const Character c = character(j);
      if (c.code == '/') break;
      length = c.code == '.' ? 0 : length + 1;
      if (length > 2 || kind_of(c.code) == Kind::digit) return classes;
    }
    return text_[part - 1] == '.' ? classes | company_word : classes;
  }

  // "z. B.", "a. m.": the classes of a letter together with the letter and full stop before it.
  unsigned classes_of_pair(const Word& word) const {
    if (word.begin < sentence_.start + 3 || text_[word.begin - 1] != ' ' || text_[word.begin - 2] != '.') return 0;
    const int64_t other = word_before(word.begin - 2);
    const int64_t first = word.begin - 2 - other, second = word.end - word.begin;
    if (first <= 0 || first > 4 || second > 4 || first != character(other).bytes) return 0;
    char joined[9];
    std::memcpy(joined, text_ + other, static_cast<size_t>(first));
    joined[first] = '.';
    std::memcpy(joined + first + 1, text_ + word.begin, static_cast<size_t>(second));
    return word_classes(joined, first + 1 + second, language_);
  }

  // Whether a sentence goes on after a time of day: "5 a.m. Monday", "At 5 a.m. Mr. Smith went".
  bool goes_on_after_time(unsigned after) const {
    return after & zone_word || (!(after & starter_word) && classes_after(sentence_.start) & opening_word);
  }

  // Whether the single full stop at i, followed by `next`, belongs to an abbreviation, an initial or an ordinal number
  // and ends no sentence.
  bool is_abbreviation(int64_t i, const Next& next) const {
    const Word word = word_at(i);
    if (word.letters == 0) return false;
    const unsigned after = classes_after(next.word);
    const bool starter = after & starter_word;
    if (word.digits || (word.roman && word.letters > 1)) {
      if (word.letters > (word.digits ? 2 : 6)) return false;
      if (after & month_word || next.kind == Kind::dash) return true;
      return ordinals_ && next.kind == Kind::upper && !starter && !next.opened && !next.dash;
    }
    unsigned classes = classes_before(word);
    if (word.letters == 1 && is_alphanumeric(kind_of(character(word.begin).code))) {
      classes |= classes_of_pair(word);
      if (classes & title_word || next.kind == Kind::digit) return true;
      if (classes & time_word) return goes_on_after_time(after);
      return !starter && (!next.opened || next.bracket);
    }
    if (!classes) return false;
    if (next.kind == Kind::digit && classes & (title_word | number_word | company_word | loose_word)) return true;
    if (classes & title_word) return next.kind == Kind::upper || next.kind == Kind::letter || next.kind == Kind::other;
    if (classes & time_word) return goes_on_after_time(after);
    if (classes & company_word) return (next.opened && next.bracket) || !starter;
    if (classes & number_word && next.kind == Kind::upper && !starter) {  // "Fig. A", "Vol. II"
      int64_t j = next.word + character(next.word).bytes;
      if (in<'I', 'V', 'X', 'L', 'C'>(next.code)) {
        for (int steps = 0; steps < word_reach && j < size_ && in<'I', 'V', 'X', 'L', 'C'>(text_[j]); ++steps) ++j;
      }
      return !is_alphanumeric(kind_at(j));
    }
    return false;
  }

  // "world.Today is": a full stop without the space after it. Not in names of files, hosts and identifiers.
  bool is_glued(int64_t i) const {
    if (kind_at(i + 1) != Kind::upper) return false;
    const Word word = word_at(i);
    int64_t j = word.begin;
    if (word.end != i || word.letters >= word_reach || !(j == sentence_.start || is_space_at(previous(j))))
      return false;
    if (!word.digits) {
      if (word.letters < 3 || classes_of(j, i) & abbreviation_words) return false;
      if (kind_at(j) == Kind::upper) j += character(j).bytes;
      for (; j < i; j += character(j).bytes) {
        if (kind_at(j) != Kind::lower) return false;
      }
    }
    j = i + 1 + character(i + 1).bytes;
    const int64_t second = j;
    for (int steps = 0; steps < word_reach && kind_at(j) == Kind::lower; ++steps) j += character(j).bytes;
    if (j == second || j >= size_) return false;
    if (text_[j] == '.') return j + 1 < size_ && is_space_at(j + 1);
    return is_space_at(j) || in<',', '\''>(text_[j]) || code_at(j) == 0x2019;
  }

  // "consultation.11 12 Take", "(1987).1 According": the end of the footnote numbers after the full stop at i, else 0.
  int64_t footnote_numbers(int64_t i) const {
    if (i == sentence_.start) return 0;
    if (text_[i - 1] != ')') {
      const Word word = word_at(i);
      if (word.end != i || word.letters < 4 || classes_before(word)) return 0;
      for (int64_t j = word.begin; j < i; j += character(j).bytes) {
        if (kind_at(j) != Kind::lower && !(j == word.begin && kind_at(j) == Kind::upper)) return 0;
      }
    }
    int64_t end = 0;
    for (int64_t j = i + 1; j < i + word_reach;) {
      const int64_t first = j;
      while (j < size_ && j - first < 3 && text_[j] >= '0' && text_[j] <= '9') ++j;
      if (j == first || j >= size_ || !is_space_at(j)) break;
      end = j;
      if (text_[j] != ' ') break;
      ++j;
    }
    return end;
  }

  // "1) The first 2) The second": the marker that ends at i, when it is the next of the list that the sentence begins
  // with.
  bool inline_item(int64_t i) {
    if (!sentence_.list.style || i <= sentence_.list.end) return false;
    int64_t begin = i;
    if (begin > sentence_.start && text_[begin - 1] == '.' && text_[i] == ')') --begin;
    while (begin > sentence_.start && i - begin < 5 && is_alphanumeric(kind_of(text_[begin - 1])) &&
           text_[begin - 1] < 0x80)
      --begin;
    if (begin <= sentence_.start || !is_space_at(previous(begin))) return false;
    const Marker m = marker_at(begin);
    if (m.style != sentence_.list.style || m.end < i || m.end > i + 2) return false;
    const bool follows = (m.number && m.number == sentence_.list.number + 1) ||
                         (m.letter && m.letter == sentence_.list.letter + 1 && sentence_.list.letter) ||
                         (m.roman && m.roman == sentence_.list.roman + 1 && sentence_.list.roman);
    if (!follows) return false;
    end_sentence(trim(begin), begin, false);
    at_ = m.end;
    return true;
  }

  void full_stop(int64_t i, Character c) {
    if (c.code == '.' && inline_item(i)) return;
    Run run{i, i};
    run.first_end = run.end = stops(i, run);
    at_ = run.end;
    const Kind glued = kind_at(run.end);
    bool closed = false;
    if (is_alphanumeric(glued)) {
      const bool plain = run.dots == 1 && !run.strong && run.end == i + 1 && c.code == '.';
      if (run.wide) {
        const bool decimal = c.code == 0xFF0E && glued == Kind::digit && kind_before(i) == Kind::digit;
        if (!decimal) end_sentence(run.end, run.end, false);
      } else if (run.stop) {
        // ॥ also stands on both sides of a verse number
        const bool numbered = c.code == 0x965 && glued == Kind::digit;
        if (!numbered && text_[i] != ':' && text_[i] != ';') end_sentence(run.end, run.end, false);
      } else if (plain && glued == Kind::digit) {
        const int64_t end = footnote_numbers(i);
        if (end) finish(i, run, closed, end);
      } else if (plain && is_glued(i)) {
        end_sentence(run.end, run.end, false);
      }
      return;
    }
    // ". . ." and "! ?": stops with single spaces between them. Stops before a letter belong to it (".NET", "...and").
    if (!run.wide && !run.stop) {
      while (run.end + 1 < size_ && text_[run.end] == ' ' && is_stop_at(run.end + 1)) {
        Run more{};
        const int64_t end = stops(run.end + 1, more);
        if (is_alphanumeric(kind_at(end)) || more.wide || more.stop) break;
        run.dots += more.dots;
        run.strong |= more.strong;
        ++run.groups;
        run.end = end;
      }
    }
    // "[...]" and "(!)" stand for words left out or doubted.
    if (i > 0 && in<'[', '('>(text_[i - 1]) && run.end < size_ && in<']', ')'>(text_[run.end])) return;
    const int64_t end = closers(run.end, run, closed);
    if (sentence_.list.style && i < sentence_.list.end) {  // the full stop of a list marker
      at_ = end;
      return;
    }
    finish(i, run, closed, end);
  }

  // Ends the sentence whose full stops begin at i and whose text ends at `end`, unless what follows says otherwise.
  void finish(int64_t i, Run& run, bool closed, int64_t end) {
    at_ = end;
    Gap gap = skip_space(end);
    if (gap.end >= size_) return;
    if (is_hard(gap)) return end_sentence(end, gap.end, true, gap.newlines > 0);

    int64_t sentence_end = end;
    if (gap.end == end) {  // no space follows
      const Kind kind = kind_at(end);
      const bool begins = kind == Kind::open || kind == Kind::quote || is_alphanumeric(kind) || kind == Kind::emoji ||
                          kind == Kind::bullet;
      if (!(run.wide || run.stop) || !begins) return;
    }
    // What belongs to the sentence although a space precedes it: "» ", " :)", " [1]".
    while (gap.newlines == 0) {
      const int64_t more = trailer(gap.end, run, closed);
      if (more == gap.end) break;
      sentence_end = at_ = more;
      gap = skip_space(more);
      if (gap.end >= size_) return;
      if (is_hard(gap)) return end_sentence(sentence_end, gap.end, true, gap.newlines > 0);
      if (gap.end == more) return;
    }
    if (ends_sentence(i, run, closed, gap.end)) {
      // ". . . ." after a word is its full stop and an ellipsis that begins the next sentence.
      if (run.groups == 4 && run.dots == 4 && run.first_end == i + 1 && end == run.end && i > 0 &&
          text_[i - 1] != ' ') {
        end_sentence(run.first_end, run.first_end + 1, false);
        at_ = end;
      } else {
        end_sentence(sentence_end, gap.end, false);
      }
    }
  }

  // The word before the full stops at i is no abbreviation, nor looks like one.
  bool is_plain_word(int64_t i) const {
    const Word word = word_at(i);
    if (word.letters < 2 || classes_before(word) & abbreviation_words) return false;
    for (int64_t j = word.begin; j < word.end; j += character(j).bytes) {
      const bool lower = kind_at(j) == Kind::lower || text_[j] == '\'' || code_at(j) == 0x2019;
      if (!lower && !(j == word.begin && kind_at(j) == Kind::upper)) return false;
    }
    return true;
  }

  bool ends_sentence(int64_t i, const Run& run, bool closed, int64_t next_start) const {
    const Next next = look(next_start);
    if (run.wide || run.stop) {
      // 「行こう。」と言った: a quotation inside its sentence goes on with a particle.
      const uint32_t code = code_at(next_start);
      const bool particle =
          code == 0x3068 || code == 0x3063 || code == 0x306E || code == 0x3092 || code == 0x304C || code == 0x306A;
      return !(closed && particle) && !in<',', ';', ':'>(code);
    }
    if (next.kind == Kind::newline || next.kind == Kind::mark) return false;
    const bool plain = run.dots == 1 && !run.strong;
    if (next.kind == Kind::lower) {
      if (closed || next.dash || run.dots > 1) return false;
      if (plain && !next.opened && marker_at(next.word).style && (next.code == 'a' || next.code == 'i')) return true;
      if (next.opened) return plain && !is_abbreviation(i, next);
      // Messages in small letters: a sentence that began with one is followed by its like.
      const bool messages = kind_at(sentence_.start) == Kind::lower || classes_after(next.word) & lower_word;
      return messages && is_plain_word(i);
    }
    if (next.code == '.' && !next.opened && !next.dash) {  // "raak. ...en toen", "on Windows. .NET is"
      int64_t j = next.word;
      while (j < size_ && text_[j] == '.') ++j;
      const Kind kind = kind_at(j);
      return kind == Kind::upper || (j - next.word > 1 && is_alphanumeric(kind));
    }
    if (in<',', ';', ':', '&', '+', '=', '/', '%', '.', '!', '?', ')', ']', '}', '>'>(next.code) ||
        next.kind == Kind::close)
      return false;
    if (run.strong) return true;
    if (run.dots > 1) return !(run.dots < 4 && classes_after(next.word) & pronoun_word);
    return !is_abbreviation(i, next);
  }

  // ---- line breaks ----

  void line_break(int64_t i) {
    const Gap gap = skip_space(i);
    at_ = gap.end;
    if (gap.end >= size_ || !is_hard(gap)) return;
    end_sentence(trim(i), gap.end, true, true);
  }

  void visit(int64_t i) {
    const unsigned char byte = text_[i];
    switch (byte) {
      case '\n':
      case '\r': return line_break(i);
      case '.':
      case '!':
      case '?': return full_stop(i, {byte, 1});
      case ':':
      case ';':
        if (is_letter_stop(i)) full_stop(i, {byte, 1});
        return;
      case '(':
      case ')':
      case '[':
      case ']':
      case '"': return quote_or_bracket(i, {byte, 1});
      default: break;
    }
    if (i + 1 >= size_ || !(interesting[byte] >> (text_[i + 1] & 63) & 1)) return;
    const Character c = character(i);
    switch (kind_of(c.code)) {
      case Kind::wide:
      case Kind::stop:
      case Kind::dots:
      case Kind::strong: return full_stop(i, c);
      case Kind::open:
      case Kind::close:
      case Kind::quote: return quote_or_bracket(i, c);
      case Kind::newline: return line_break(i);
      case Kind::bullet:
        if (i > sentence_.start && kind_before(i) == Kind::space && i >= sentence_.item && !only_bullets_before(i))
          end_sentence(trim(i), i, false);
        at_ = std::max(at_, i + c.bytes);
        return;
      default: return;
    }
  }

  // A bullet inside a sentence begins an item when the sentence began with a bullet, or when it is one for certain.
  bool only_bullets_before(int64_t i) const {
    return sentence_.item >= i || (kind_at(sentence_.start) != Kind::bullet && code_at(i) == 0xB7);
  }

  const unsigned char* text_;
  const int64_t size_;
  const int language_;
  const bool newline_is_boundary_, ordinals_;
  std::vector<Span>& out_;

  int64_t at_ = 0;  // candidates before this position are done
  Sentence sentence_;

  static constexpr int max_opened = 8;
  Opened opened_[max_opened];
  int opened_count_ = 0;
};

}  // namespace

Language language_from_name(const char* name) {
  if (!name || !*name) return Language::automatic;
  const size_t length = std::strcspn(name, "-_");
  for (int i = 1; i < language_count; ++i)
    if (std::strlen(languages[i]) == length && std::strncmp(languages[i], name, length) == 0)
      return static_cast<Language>(i);
  std::string known;
  for (int i = 1; i < language_count; ++i) known += std::string(i > 1 ? ", " : "") + languages[i];
  check(false, "language", "must be None or one of " + known + ", not '" + name + "'");
  return Language::automatic;
}

void sentence_spans(const char* text, int64_t size, Language language, bool newline_is_boundary,
                    std::vector<Span>& out) {
  Scanner(text, size, static_cast<int>(language), newline_is_boundary, out).run();
}

int64_t sentence_cut(const char* text, int64_t size, int64_t at) {
  while (at < size) {
    const void* found = std::memchr(text + at, '\n', static_cast<size_t>(size - at));
    if (!found) break;
    const int64_t line = static_cast<const char*>(found) - text;
    at = line + 1;
    if (at + 1 < size && text[at] == '\n' && is_visible_ascii(static_cast<unsigned char>(text[at + 1]))) return at + 1;
  }
  return size;
}

}  // namespace rc
