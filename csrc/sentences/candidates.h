// The search for bytes at which a sentence may end, or that open or close quotes and brackets.
#pragma once
#include <cstdint>

#include "core/simd.h"

namespace rc {

// Bit i of masks[b] is set when byte 64 * b + i of `text` is one of \n \r ! " ( ) . : ; ? [ ] or begins the encoding of
// a block of characters with full stops, quotes, brackets or bullets. Reads 64 * blocks bytes.
RC_DECLARE_SIMD(void candidate_masks(const unsigned char* text, int blocks, uint64_t* masks);)

}  // namespace rc
