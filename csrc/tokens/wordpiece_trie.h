// Byte strings to ids, walked byte by byte: a double array with XOR addressing. The children of a node lie in one block
// of 256 slots, at base ^ byte, and know their parent.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rc {

class Trie {
 public:
  static constexpr int32_t kNone = -1;

  // Keys must differ; ids must not be negative. An empty key is never matched.
  void build(const std::vector<std::string>& keys, const std::vector<int32_t>& ids);

  int32_t root() const { return 0; }
  // The child of `node` for this byte, or kNone.
  int32_t step(int32_t node, unsigned char byte) const {
    const int32_t child = nodes_[node].base ^ byte;
    return nodes_[child].parent == node ? child : kNone;
  }
  int32_t id(int32_t node) const { return nodes_[node].id; }  // kNone: no key ends here
  int32_t walk(const std::string& text) const {
    int32_t node = root();
    for (unsigned char c : text) {
      node = step(node, c);
      if (node == kNone) break;
    }
    return node;
  }

  // The longest key that begins at text[0], from `node` on: its length (0: none) and its id.
  int64_t longest(int32_t node, const char* text, int64_t size, int32_t* id) const {
    int64_t best = 0;
    for (int64_t i = 0; i < size; i++) {
      node = step(node, static_cast<unsigned char>(text[i]));
      if (node == kNone) break;
      if (nodes_[node].id != kNone) {
        best = i + 1;
        *id = nodes_[node].id;
      }
    }
    return best;
  }

 private:
  struct Node {
    int32_t base = 0, parent = kNone, id = kNone;
  };
  std::vector<Node> nodes_{256};
};

}  // namespace rc
