// Any bytes through the Markdown block scanner: rows stay in the text and in order, children in their parents, and what
// is in no block is blank; chunks keep to the maximum. Built by clang with -fsanitize=fuzzer,address, or by any
// compiler with -DRC_FUZZ_MAIN: then main() feeds it random pieces of Markdown (arguments: how many, seed) or the files
// that it is given.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "structure/markdown.h"
#include "structure/markdown_chunks.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the options; the text is copied so that a read past its end is seen.
  rc::MarkdownOptions options;
  options.heading_levels = (data[0] & 7) == 0 ? 0x06 : 0x7e;
  options.front_matter = data[0] & 8;
  options.tables = data[0] & 16;
  options.math = data[0] & 32;
  options.footnotes = data[0] & 64;
  const int64_t n = static_cast<int64_t>(size) - 1;
  char* text = static_cast<char*>(std::malloc(static_cast<size_t>(n) + (n == 0)));
  std::memcpy(text, data + 1, static_cast<size_t>(n));

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
  rc::MarkdownChunkOptions sizes;
  sizes.max_tokens = 8 + data[0] % 50;
  sizes.min_tokens = data[0] % 7;
  sizes.overlap = data[0] % 5;
  sizes.keep_headings = data[0] & 2;
  sizes.reserve_headings = data[0] & 4;
  std::vector<rc::MarkdownChunk> chunks;
  rc::markdown_chunks({text, static_cast<size_t>(n)}, c, rc::ByteMeasure({text, static_cast<size_t>(n)}), sizes,
                      chunks);
  int64_t before = 0;
  for (const rc::MarkdownChunk& chunk : chunks) {
    require(before <= chunk.start && chunk.start < chunk.end && chunk.end <= n, "chunks in the text, in order");
    require(chunk.end - chunk.start == chunk.tokens && chunk.tokens <= sizes.max_tokens, "chunks within the maximum");
    before = chunk.start;
  }
  std::free(text);
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  if (argc > 1 && !std::isdigit(static_cast<unsigned char>(argv[1][0]))) {
    for (int i = 1; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::string bytes = "x" + std::string(std::istreambuf_iterator<char>(file), {});
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
    return 0;
  }
  static const char* const pieces[] = {
      "# ",           "a",        "b c",    " ",      "    ",   "\t",    "> ",       "- ", "1. ", "```",  "~~~",  "===",
      "---",          "<div>",    "<a>",    "<!--",   "-->",    "[a]: ", "[a",       "]:", "/u",  "\"t",  "\\",   "$$",
      "\\[",          "\\]",      "[^1]: ", "|",      "|-|",    "+++",   "\n",       "\n", "\n",  "\n\n", "\r\n", "\r",
      "\xef\xbb\xbf", "\xc3\xa9", "\xff",   "<b x='", "</pre>", "]]>",   "<![CDATA["};
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
  const long runs = argc > 1 ? std::atol(argv[1]) : 100000;
  for (long run = 0; run < runs; ++run) {
    std::string bytes(1, static_cast<char>(random()));
    for (unsigned i = random() % 40; i > 0; --i) {
      const unsigned k = random() % (std::size(pieces) + 1);
      if (k == std::size(pieces))
        bytes += static_cast<char>(random());
      else
        bytes += pieces[k];
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%ld documents\n", runs);
}
#endif
