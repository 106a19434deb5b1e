// Any bytes through the Markdown block scanner: rows stay in the text and in order, children in their parents, and what
// is in no block is blank; chunks of valid UTF-8 keep to the maximum.
#include "fuzz.h"
#include "structure/markdown.h"
#include "structure/markdown_chunks.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the options.
  rc::MarkdownOptions options;
  options.heading_levels = (data[0] & 7) == 0 ? 0x06 : 0x7e;
  options.front_matter = data[0] & 8;
  options.tables = data[0] & 16;
  options.math = data[0] & 32;
  options.footnotes = data[0] & 64;
  const fuzz::Copy copy({reinterpret_cast<const char*>(data) + 1, size - 1});
  const char* text = copy.data();
  const int64_t n = copy.size();

  rc::BlockColumns c;
  rc::markdown_blocks(text, n, options, c);
  int64_t covered = n >= 3 && std::memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, last = 0;
  for (size_t i = 0; i < c.kind.size(); ++i) {
    require(last <= c.start[i] && c.start[i] < c.end[i] && c.end[i] <= n, "spans in the text, starts in order");
    require(c.start[i] <= c.text_start[i] && c.text_start[i] <= c.text_end[i] && c.text_end[i] <= c.end[i],
            "text inside");
    const int32_t parent = c.parent[i];
    require(parent < static_cast<int32_t>(i), "parents first");
    if (parent >= 0) require(c.start[parent] <= c.start[i] && c.end[i] <= c.end[parent], "children inside");
    for (int64_t p = covered; p < c.start[i]; ++p) require(std::strchr(" \t\r\n", text[p]) && text[p], "blank between");
    if (c.end[i] > covered) covered = c.end[i];
    last = c.start[i];
  }
  for (int64_t p = covered; p < n; ++p) require(std::strchr(" \t\r\n", text[p]) && text[p], "blank at the end");
  for (size_t i = 1; i < c.section_start.size(); ++i) {
    const int32_t parent = c.section_parent[i];
    require(c.section_level[parent] < c.section_level[i], "levels grow");
    require(c.section_start[parent] <= c.section_start[i] && c.section_end[i] <= c.section_end[parent],
            "sections nest");
  }
  if (fuzz::valid_utf8(data + 1, size - 1) != copy.view()) return 0;
  rc::MarkdownChunkOptions sizes;
  sizes.max_tokens = 8 + data[0] % 50;
  sizes.min_tokens = data[0] % 7;
  sizes.overlap = data[0] % 5;
  sizes.keep_headings = data[0] & 2;
  sizes.reserve_headings = data[0] & 4;
  std::vector<rc::MarkdownChunk> chunks;
  rc::markdown_chunks(copy.view(), c, rc::ByteMeasure(copy.view()), sizes, chunks);
  int64_t before = 0;
  for (const rc::MarkdownChunk& chunk : chunks) {
    require(before <= chunk.start && chunk.start < chunk.end && chunk.end <= n, "chunks in the text, in order");
    require(chunk.end - chunk.start == chunk.tokens && chunk.tokens <= sizes.max_tokens, "chunks within the maximum");
    before = chunk.start;
  }
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  return fuzz::drive(
      argc, argv, {"# ",     "a",   "b c",      " ",     " ",    "\t",   "> ",           "- ",       "1. ",  "```",
                   "~~~",    "===", "---",      "<div>", "<a>",  "<!--", "-->",          "[a]: ",    "[a",   "]:",
                   "/u",     "\"t", "\\",       "$$",    "\\[",  "\\]",  "[^1]: ",       "|",        "|-|",  "+++",
                   "\n",     "\n",  "\n",       "\n\n",  "\r\n", "\r",   "\xef\xbb\xbf", "\xc3\xa9", "\xff", "<b x='",
                   "</pre>", "]]>", "<![CDATA["});
}
#endif
