// What the fuzz targets share: a check that aborts, input as valid UTF-8 in memory of its own, and, for compilers
// without libFuzzer (-DRC_FUZZ_MAIN), a main() that feeds a target random pieces of text (arguments: how many, seed) or
// the files that it is given.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// A text in memory that ends where the text ends, so that the sanitizer sees a read past it.
class Copy {
 public:
  explicit Copy(std::string_view text) : size_(static_cast<int64_t>(text.size())) {
    data_ = static_cast<char*>(std::malloc(text.size() + text.empty()));
    if (!text.empty()) std::memcpy(data_, text.data(), text.size());
  }
  ~Copy() { std::free(data_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  const char* data() const { return data_; }
  int64_t size() const { return size_; }
  std::string_view view() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  char* data_;
  int64_t size_;
};

// Bytes of the sequence at `at`, 0 where none begins: written from the table in RFC 3629, not with the code under test.
inline size_t sequence(const uint8_t* data, size_t size, size_t at) {
  const uint8_t lead = data[at];
  const size_t bytes = lead < 0x80                   ? 1
                       : lead >= 0xC2 && lead < 0xE0 ? 2
                       : lead >= 0xE0 && lead < 0xF0 ? 3
                       : lead >= 0xF0 && lead < 0xF5 ? 4
                                                     : 0;
  bool good = bytes > 0 && at + bytes <= size;
  for (size_t k = 1; good && k < bytes; ++k) good = (data[at + k] & 0xC0) == 0x80;
  if (good && lead == 0xE0) good = data[at + 1] >= 0xA0;
  if (good && lead == 0xED) good = data[at + 1] < 0xA0;
  if (good && lead == 0xF0) good = data[at + 1] >= 0x90;
  if (good && lead == 0xF4) good = data[at + 1] < 0x90;
  return good ? bytes : 0;
}

// What is not UTF-8 becomes U+FFFD: texts reach most stages as valid UTF-8.
inline std::string valid_utf8(const uint8_t* data, size_t size) {
  std::string out;
  for (size_t i = 0; i < size;) {
    const size_t bytes = sequence(data, size, i);
    if (bytes)
      out.append(reinterpret_cast<const char*>(data) + i, bytes);
    else
      out += "\xEF\xBF\xBD";
    i += bytes ? bytes : 1;
  }
  return out;
}

#ifdef RC_FUZZ_MAIN
inline void feed(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

inline int drive(int argc, char** argv, const std::vector<std::string>& pieces) {
  const char* first = argc > 1 ? argv[1] : "20000";
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  if (std::strspn(first, "0123456789") == std::strlen(first)) {
    for (long long rounds = std::atoll(first); rounds > 0; --rounds) {
      std::string text(1, static_cast<char>(random()));
      for (size_t k = random() % 40; k > 0; --k) {
        if (random() % 8)
          text += pieces[random() % pieces.size()];
        else
          text += static_cast<char>(random());
      }
      feed(text);
    }
    return 0;
  }
  for (int a = 1; a < argc; ++a) {  // seeds, as they are and changed at random
    std::ifstream file(argv[a], std::ios::binary);
    const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    feed(seed);
    for (int r = 0; r < 200; ++r) {
      std::string text = static_cast<char>(random()) + seed;
      for (size_t k = random() % 20; k > 0; --k) {
        const size_t at = random() % text.size();
        if (random() % 2)
          text.erase(at, random() % 8);
        else
          text.insert(at, pieces[random() % pieces.size()]);
        if (text.empty()) text = "x";
      }
      feed(text);
    }
  }
  return 0;
}
#endif

}  // namespace fuzz
