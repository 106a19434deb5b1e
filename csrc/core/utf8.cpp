#include "core/utf8.h"

namespace rc {

CodePoint decode(const char* text, int64_t size, int64_t at) {
  const auto byte = [&](int64_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  const uint32_t a = byte(at);
  if (a < 0x80) return {a, 1};
  const int64_t left = size - at;
  if (a >= 0xC2 && a < 0xE0 && left >= 2 && is_continuation(text[at + 1]))
    return {(a & 0x1F) << 6 | (byte(at + 1) & 0x3F), 2};
  if (a >= 0xE0 && a < 0xF0 && left >= 3 && is_continuation(text[at + 1]) && is_continuation(text[at + 2]))
    return {(a & 0x0F) << 12 | (byte(at + 1) & 0x3F) << 6 | (byte(at + 2) & 0x3F), 3};
  if (a >= 0xF0 && a < 0xF5 && left >= 4 && is_continuation(text[at + 1]) && is_continuation(text[at + 2]) &&
      is_continuation(text[at + 3]))
    return {(a & 0x07) << 18 | (byte(at + 1) & 0x3F) << 12 | (byte(at + 2) & 0x3F) << 6 | (byte(at + 3) & 0x3F), 4};
  return {0xFFFD, 1};
}

bool is_space(uint32_t c) {
  if (c < 0x80) return is_ascii_space(static_cast<char>(c));
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

int64_t skip_space_run(const char* text, int64_t at, int64_t end) {
  while (at < end) {
    if (static_cast<int8_t>(text[at]) >= 0) {
      if (!is_ascii_space(text[at])) break;
      at++;
      continue;
    }
    const CodePoint c = decode(text, end, at);
    if (!is_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

int64_t trim_space_run(const char* text, int64_t start, int64_t end) {
  while (end > start) {
    if (static_cast<int8_t>(text[end - 1]) >= 0) {
      if (!is_ascii_space(text[end - 1])) break;
      end--;
      continue;
    }
    const int64_t at = previous(text, end);
    if (at < start || !is_space(decode(text, end, at).value)) break;
    end = at;
  }
  return end;
}

int64_t count_code_points(const char* text, int64_t size) { return RC_PICK(count_code_points)(text, size); }
bool all_ascii(const char* text, int64_t size) { return RC_PICK(all_ascii)(text, size); }

namespace {
template <class Unit>
using SizeOf = int64_t (*)(const Unit*, int64_t);
template <class Unit>
using Write = char* (*)(const Unit*, int64_t, char*);
}  // namespace

template <class Unit>
int64_t utf8_size(const Unit* units, int64_t n) {
  const SizeOf<Unit> baseline = &baseline::utf8_size;
#if defined(__x86_64__) || defined(_M_X64)
  const SizeOf<Unit> levels[] = {baseline, &avx2::utf8_size, &avx512::utf8_size};
  return levels[static_cast<int>(simd_level())](units, n);
#else
  return baseline(units, n);
#endif
}

template <class Unit>
char* write_utf8(const Unit* units, int64_t n, char* out) {
  const Write<Unit> baseline = &baseline::write_utf8;
#if defined(__x86_64__) || defined(_M_X64)
  const Write<Unit> levels[] = {baseline, &avx2::write_utf8, &avx512::write_utf8};
  return levels[static_cast<int>(simd_level())](units, n, out);
#else
  return baseline(units, n, out);
#endif
}

template int64_t utf8_size(const uint8_t*, int64_t);
template int64_t utf8_size(const uint16_t*, int64_t);
template int64_t utf8_size(const uint32_t*, int64_t);
template char* write_utf8(const uint8_t*, int64_t, char*);
template char* write_utf8(const uint16_t*, int64_t, char*);
template char* write_utf8(const uint32_t*, int64_t, char*);

void to_code_points(const char* text, int64_t size, int64_t* positions, int64_t n) {
  const auto count = RC_PICK(count_code_points);
  int64_t at = 0, code_points = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t to = positions[i] < size ? positions[i] : size;
    code_points += to >= at ? count(text + at, to - at) : -count(text + to, at - to);
    at = to;
    positions[i] = code_points;
  }
}

void to_bytes(const char* text, int64_t size, int64_t* positions, int64_t n) {
  int64_t at = 0, code_points = 0;
  for (int64_t i = 0; i < n; i++) {
    while (at < size && code_points < positions[i]) {
      at++;
      while (at < size && is_continuation(text[at])) at++;
      code_points++;
    }
    positions[i] = at;
  }
}

}  // namespace rc
