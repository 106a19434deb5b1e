// HTML -> text, tags and other markup, as the HTML standard says (13.2.5). No copies: what is read are views of the
// page.
#pragma once
#include <string_view>

#include "structure/html_render.h"
#include "structure/html_scan.h"
#include "structure/html_tags.h"

namespace rc::html {

// `what` in lower case.
bool contains_any_case(std::string_view text, std::string_view what);

// What a reader of text needs to know of a tag.
struct Attributes {
  bool hidden = false;  // by hidden, aria-hidden or style
  std::string_view alt;
  bool has_alt = false, has_aria = false, has_style = false, closes_itself = false;
  bool unclear = false;  // a style that would have to be decoded first, or the tag's name is cut
};

class Tokenizer {
 public:
  enum class Token {
    text,
    start_tag,
    end_tag,
    nothing,  // </>
    markup,   // a comment, declaration or processing instruction
    page_end,
  };

  explicit Tokenizer(std::string_view html) : html_(html), text_end_(RC_PICK(html_text_end)) {}

  Token next();

  // Of text and markup: as it is written.
  std::string_view text() const { return text_; }
  // Of text: the bits of html_scan.h.
  uint8_t seen() const { return seen_; }

  // Of a tag. The name is in lower case; it is valid until the next token, and forever where `lasts()`.
  const Tag& tag() const { return tag_; }
  const Attributes& attributes() const { return attributes_; }
  bool lasts() const { return lasts_; }

  // After a start tag: the text up to the end tag of this name, which is read too.
  std::string_view raw_text(std::string_view name);

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  char peek(size_t offset) const { return at_ + offset < html_.size() ? html_[at_ + offset] : '\0'; }
  Token take(Token token, size_t end);
  Token sign(size_t end);
  size_t after(char mark) const;
  size_t comment_end() const;
  Token read_tag(bool closing);
  size_t read_attributes(size_t at);
  void attribute(std::string_view name, std::string_view value);

  const std::string_view html_;
  decltype(RC_PICK(html_text_end)) text_end_;
  size_t at_ = 0;
  uint8_t seen_ = 0;
  std::string_view text_;
  Tag tag_;
  Attributes attributes_;
  bool lasts_ = true;
  char lower_[24];
};

}  // namespace rc::html
