// Strings of Python (units of 1, 2 and 4 bytes) to UTF-8 and positions there and back, on every instruction set that
// this machine has, against loops written out here.
#include "core/utf8.h"
#include "fuzz.h"

namespace {

using fuzz::require;

std::string encoded(const std::vector<uint32_t>& points) {
  std::string out;
  for (uint32_t c : points) {
    if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;  // a lone surrogate: as many bytes
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return out;
}

template <class Unit>
void check_units(const std::vector<uint32_t>& points, const std::string& wanted) {
  const std::vector<Unit> given(points.begin(), points.end());
  const fuzz::Copy units({reinterpret_cast<const char*>(given.data()), given.size() * sizeof(Unit)});
  const auto* first = reinterpret_cast<const Unit*>(units.data());
  const auto n = static_cast<int64_t>(given.size());
  const auto check = [&](int64_t (*size)(const Unit*, int64_t), char* (*write)(const Unit*, int64_t, char*)) {
    require(size(first, n) == static_cast<int64_t>(wanted.size()), "the size in UTF-8");
    char* out = static_cast<char*>(std::malloc(wanted.size() + 1));
    out[wanted.size()] = 'x';
    require(write(first, n, out) == out + wanted.size(), "the end of the bytes in UTF-8");
    require(std::memcmp(out, wanted.data(), wanted.size()) == 0, "the bytes in UTF-8");
    require(out[wanted.size()] == 'x', "nothing written behind the text");
    std::free(out);
  };
  check(rc::utf8_size, rc::write_utf8);
  check(rc::baseline::utf8_size, rc::baseline::write_utf8);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) check(rc::avx2::utf8_size, rc::avx2::write_utf8);
  if (__builtin_cpu_supports("avx512bw")) check(rc::avx512::utf8_size, rc::avx512::write_utf8);
#endif
}

void check_counts(const fuzz::Copy& text, int64_t points, bool ascii) {
  const auto check = [&](int64_t (*count)(const char*, int64_t), bool (*all)(const char*, int64_t)) {
    require(count(text.data(), text.size()) == points, "the number of code points");
    require(all(text.data(), text.size()) == ascii, "whether all is ASCII");
  };
  check(rc::count_code_points, rc::all_ascii);
  check(rc::baseline::count_code_points, rc::baseline::all_ascii);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) check(rc::avx2::count_code_points, rc::avx2::all_ascii);
  if (__builtin_cpu_supports("avx512bw")) check(rc::avx512::count_code_points, rc::avx512::all_ascii);
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte says how wide the units are; the rest is text, or code points of three bytes each.
  std::vector<uint32_t> points;
  const int width = data[0] & 3;
  if (width == 3) {
    for (size_t i = 1; i + 3 <= size; i += 3)
      points.push_back((data[i] | data[i + 1] << 8 | static_cast<uint32_t>(data[i + 2]) << 16) % 0x110000);
  } else {
    const std::string text = fuzz::valid_utf8(data + 1, size - 1);
    for (size_t i = 0; i < text.size();) {
      const rc::CodePoint c = rc::decode(text.data(), static_cast<int64_t>(text.size()), static_cast<int64_t>(i));
      require(
          c.bytes == static_cast<int>(fuzz::sequence(reinterpret_cast<const uint8_t*>(text.data()), text.size(), i)),
          "the bytes of a character");
      points.push_back(width == 0 ? c.value & 0xFF : width == 1 ? c.value & 0xFFFF : c.value);
      i += static_cast<size_t>(c.bytes);
    }
  }
  const std::string wanted = encoded(points);
  if (width == 0) check_units<uint8_t>(points, wanted);
  if (width <= 1) check_units<uint16_t>(points, wanted);
  check_units<uint32_t>(points, wanted);

  const fuzz::Copy text(wanted);
  const auto n = static_cast<int64_t>(points.size());
  check_counts(text, n, static_cast<size_t>(n) == wanted.size());

  // Every boundary of a character, there and back.
  std::vector<int64_t> bytes;
  for (int64_t at = 0; at <= text.size(); ++at)
    if (at == text.size() || !rc::is_continuation(text.data()[at])) bytes.push_back(at);
  std::vector<int64_t> positions = bytes;
  rc::to_code_points(text.data(), text.size(), positions.data(), static_cast<int64_t>(positions.size()));
  for (size_t i = 0; i < positions.size(); ++i)
    require(positions[i] == static_cast<int64_t>(i), "bytes to code points");
  rc::to_bytes(text.data(), text.size(), positions.data(), static_cast<int64_t>(positions.size()));
  require(positions == bytes, "code points to bytes");
  for (size_t i = 1; i < bytes.size(); ++i)
    require(rc::previous(text.data(), bytes[i]) == bytes[i - 1], "the character before");

  const int64_t from = rc::skip_space(text.data(), 0, text.size());
  const int64_t to = rc::trim_space(text.data(), from, text.size());
  for (int64_t at = 0; at < text.size();) {
    const rc::CodePoint c = rc::decode(text.data(), text.size(), at);
    if (at < from || at >= to) require(rc::is_space(c.value), "only white space is trimmed");
    if (at == from && from < to) require(!rc::is_space(c.value), "all white space is trimmed at the start");
    if (at + c.bytes == to && from < to) require(!rc::is_space(c.value), "all white space is trimmed at the end");
    at += c.bytes;
  }
  return 0;
}

#ifdef RC_FUZZ_MAIN
int main(int argc, char** argv) {
  return fuzz::drive(argc, argv,
                     {"a",
                      " ",
                      "\n",
                      "text of some length, longer than a register",
                      "é",
                      "ß",
                      "中文",
                      "\xEF\xBF\xBD",
                      "\xED\xA0\x80",
                      "\xF0\x9F\x98\x80",
                      "\xF4\x8F\xBF\xBF",
                      "\xF4\x90\x80\x80",
                      "\xC0\x80",
                      "\xC2\xA0",
                      "\xE3\x80\x80",
                      "\xE2\x80\xA8",
                      "\x1c",
                      "\x7f",
                      "\x80",
                      std::string(3, '\0'),
                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé",
                      "ééééééééééééééééééééé"});
}
#endif
