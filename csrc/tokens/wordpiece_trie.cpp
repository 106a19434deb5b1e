#include "tokens/wordpiece_trie.h"

#include <algorithm>
#include <numeric>

namespace rc {
namespace {

constexpr int32_t kBlock = 256;
constexpr int kTries = 64;  // free slots looked at before a new block is begun: keeps building linear

// The free slots of the array, in a doubly linked list. Slot 0 is the root's and never free.
class FreeSlots {
 public:
  explicit FreeSlots(int32_t slots) : next_(1, 0), previous_(1, 0), taken_(1, true) { extend(slots - 1); }
  void extend(int32_t by) {
    for (int32_t i = 0; i < by; i++) {
      const int32_t slot = static_cast<int32_t>(next_.size()), last = previous_[0];
      next_[last] = slot;
      previous_[0] = slot;
      next_.push_back(0);
      previous_.push_back(last);
      taken_.push_back(false);
    }
  }
  void take(int32_t slot) {
    next_[previous_[slot]] = next_[slot];
    previous_[next_[slot]] = previous_[slot];
    taken_[slot] = true;
  }
  int32_t last() const { return previous_[0]; }
  int32_t before(int32_t slot) const { return previous_[slot]; }  // 0: no more
  bool taken(int32_t slot) const { return taken_[slot]; }
  int32_t size() const { return static_cast<int32_t>(next_.size()); }

 private:
  std::vector<int32_t> next_, previous_;
  std::vector<char> taken_;
};

}  // namespace

void Trie::build(const std::vector<std::string>& keys, const std::vector<int32_t>& ids) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });

  struct Range {
    int64_t low, high;  // of `order`: the keys below this node
    int64_t depth;
    int32_t node;
  };
  nodes_.assign(kBlock, Node{});
  FreeSlots free(kBlock);
  std::vector<Range> open{{0, static_cast<int64_t>(keys.size()), 0, root()}};
  std::vector<Range> children;
  while (!open.empty()) {
    Range range = open.back();
    open.pop_back();
    // Shorter keys sort first, so the key that ends here, if any, is the first.
    while (range.low < range.high && static_cast<int64_t>(keys[order[range.low]].size()) == range.depth) {
      if (range.depth > 0) nodes_[range.node].id = ids[order[range.low]];
      range.low++;
    }
    children.clear();
    for (int64_t i = range.low; i < range.high;) {
      const char byte = keys[order[i]][range.depth];
      int64_t end = i + 1;
      while (end < range.high && keys[order[end]][range.depth] == byte) end++;
      children.push_back({i, end, range.depth + 1, static_cast<unsigned char>(byte)});
      i = end;
    }
    if (children.empty()) continue;

    const int32_t first = children[0].node;
    int32_t base = kNone;
    int tries = 0;
    for (int32_t slot = free.last(); slot != 0 && tries < kTries; slot = free.before(slot), tries++) {
      const int32_t candidate = slot ^ first;
      const bool fits = std::none_of(children.begin(), children.end(),
                                     [&](const Range& c) { return free.taken(candidate ^ c.node); });
      if (fits) {
        base = candidate;
        break;
      }
    }
    if (base == kNone) {
      base = free.size();
      free.extend(kBlock);
      nodes_.resize(nodes_.size() + kBlock);
    }
    nodes_[range.node].base = base;
    for (Range& child : children) {
      child.node = base ^ child.node;
      free.take(child.node);
      nodes_[child.node].parent = range.node;
      open.push_back(child);
    }
  }
}

}  // namespace rc
