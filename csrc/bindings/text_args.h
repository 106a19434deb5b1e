// A batch of documents from Python, as UTF-8 views. ASCII strings and Arrow arrays are not copied. Other strings are
// converted when the views are first asked for; a stage that needs one document at a time converts it into memory that
// serves the next.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_buffer.h"
#include "tokens/token_index.h"
#include "tokens/wordpiece.h"

namespace rc {

namespace py = pybind11;

// Memory for the UTF-8 of one string after the other.
class Utf8Room {
 public:
  // At least so many bytes; what they held is lost.
  char* bytes(int64_t n);
  // Gives back what lies behind the first n bytes, if that is much.
  void keep(int64_t n);

 private:
  std::unique_ptr<char, decltype(&std::free)> memory_{nullptr, &std::free};
  int64_t size_ = 0;
};

// Whether a Python string has lone surrogates.
bool has_surrogates(PyObject* string);

class Texts {
 public:
  // Python strings.
  explicit Texts(const py::sequence& strings);
  // Any object with __arrow_c_stream__ or __arrow_c_array__ that holds (large) UTF-8 strings.
  static std::unique_ptr<Texts> from_arrow(const py::object& source);
  // Valid UTF-8, which the batch keeps.
  static std::unique_ptr<Texts> from_utf8(std::vector<TextBuffer>&& documents);
  // Takes over the documents of another batch, whose memory is then shared. Neither may be made of Python strings.
  void extend(const Texts& other);
  // Documents [begin, end): views of the same strings or Arrow memory, without what this batch has converted.
  std::unique_ptr<Texts> part(int64_t begin, int64_t end) const;
  ~Texts();
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  int64_t size() const { return static_cast<int64_t>(views_.size()); }
  std::string_view operator[](int64_t i) const { return views()[i]; }
  // The first call converts all strings that are not ASCII, by all threads; it needs no GIL.
  const std::vector<std::string_view>& views() const {
    if (!converted_) std::call_once(once_, [this] { convert(); });
    return views_;
  }
  // Document i until `room` takes another, converted by so many threads.
  std::string_view view(int64_t i, Utf8Room& room, int threads = 1) const;
  // The bytes of document i, or its characters where it is not converted yet.
  int64_t about_size(int64_t i) const;
  int64_t bytes() const;

  py::str string(int64_t i) const;
  // Document i from code point `start` to `end`, which are the bytes from byte_start to byte_end; converts nothing.
  py::object slice(int64_t i, int64_t start, int64_t end, int64_t byte_start, int64_t byte_end) const;
  bool ascii(int64_t i) const { return ascii_[i]; }
  // Whether document i has lone surrogates; its UTF-8 has U+FFFD for them.
  bool has_surrogates(int64_t i) const;

 private:
  Texts() = default;
  void add_arrow(const py::object& array_capsules);
  void convert() const;

  int threads_ = 1;  // that convert
  void add_string(const py::object& string);

  std::vector<uint8_t> ascii_;
  std::vector<py::object> strings_;                                        // the Python strings, if made from such
  std::vector<py::object> kept_;                                           // Arrow capsules
  std::vector<std::shared_ptr<const std::vector<TextBuffer>>> documents_;  // of our own
  mutable std::vector<std::string_view> views_;
  mutable std::vector<Utf8Room> owned_;  // of the strings that are not ASCII
  mutable std::atomic<bool> converted_{true};
  mutable std::once_flag once_;
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
