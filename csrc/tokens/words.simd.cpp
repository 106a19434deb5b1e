#include "tokens/words.h"

#include "core/bytes.h"

namespace rc {
namespace RC_SIMD {

bool space_mask(const char* text, uint64_t* spaces) {
  uint64_t mask = 0, high = 0;
  for (int i = 0; i < 64; i += Block::N) {
    const Block block = Block::load(text + i);
    high |= block.high_bits();
    mask |= (block.equal(' ') | block.in_range('\t', '\r') | block.in_range(0x1c, 0x1f)) << i;
  }
  *spaces = mask;
  return high == 0;
}

}  // namespace RC_SIMD
}  // namespace rc
