// Plain loops that the compiler turns into vector code for each level.
#include "core/utf8.h"

namespace rc {
namespace RC_SIMD {

int64_t count_code_points(const char* text, int64_t size) {
  int64_t total = 0;
  int64_t i = 0;
  while (i < size) {
    // Sums of at most 255 ones fit a byte, so the inner loop stays in byte lanes.
    const int64_t stop = size - i > 64 * 255 ? i + 64 * 255 : size;
    uint8_t lanes[64] = {0};
    for (; i + 64 <= stop; i += 64)
      for (int k = 0; k < 64; k++) lanes[k] += static_cast<int8_t>(text[i + k]) > -65;
    for (int k = 0; k < 64; k++) total += lanes[k];
    for (; i < stop; i++) total += static_cast<int8_t>(text[i]) > -65;
  }
  return total;
}

bool all_ascii(const char* text, int64_t size) {
  int64_t i = 0;
  for (; i + 1024 <= size; i += 1024) {
    uint8_t any = 0;
    for (int k = 0; k < 1024; k++) any |= static_cast<uint8_t>(text[i + k]);
    if (any & 0x80) return false;
  }
  uint8_t any = 0;
  for (; i < size; i++) any |= static_cast<uint8_t>(text[i]);
  return !(any & 0x80);
}

}  // namespace RC_SIMD
}  // namespace rc
