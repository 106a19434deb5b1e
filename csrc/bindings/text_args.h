// A batch of documents from Python, as UTF-8 views. ASCII strings and Arrow arrays are not copied.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/token_index.h"
#include "tokens/wordpiece.h"

namespace rc {

namespace py = pybind11;

class Texts {
 public:
  // Python strings.
  explicit Texts(const py::sequence& strings);
  // Any object with __arrow_c_stream__ or __arrow_c_array__ that holds (large) UTF-8 strings.
  static std::unique_ptr<Texts> from_arrow(const py::object& source);
  // Documents [begin, end) of a batch made from Arrow, which shares its memory.
  std::unique_ptr<Texts> part(int64_t begin, int64_t end) const;
  ~Texts();
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  int64_t size() const { return static_cast<int64_t>(views_.size()); }
  std::string_view operator[](int64_t i) const { return views_[i]; }
  const std::vector<std::string_view>& views() const { return views_; }
  int64_t bytes() const;

  py::str string(int64_t i) const;
  // Document i from code point `start` to `end`, which are the bytes from byte_start to byte_end.
  py::object slice(int64_t i, int64_t start, int64_t end, int64_t byte_start, int64_t byte_end) const;
  bool ascii(int64_t i) const { return ascii_[i]; }

 private:
  Texts() = default;
  void add_arrow(const py::object& array_capsules);

  std::vector<std::string_view> views_;
  std::vector<uint8_t> ascii_;
  std::vector<py::object> strings_;                                 // the Python strings, if made from such
  std::vector<std::unique_ptr<char, decltype(&std::free)>> owned_;  // UTF-8 of strings that are not ASCII
  std::vector<py::object> kept_;                                    // Arrow capsules
};

// The token indexes of a batch, and the counter for pieces whose size cannot be told from them.
struct TokenIndexes {
  std::vector<TokenIndex> documents;
  TokenIndex::Counter counter;
  bool python_counter = false;        // the counter takes the GIL: threads would only wait for each other
  const WordPiece* ids_of = nullptr;  // whose ids the documents know; the counter keeps it alive
};

// A counter that calls a Python function str -> int.
TokenIndex::Counter python_counter(const py::object& function);

}  // namespace rc
