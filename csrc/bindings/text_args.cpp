#include "bindings/text_args.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "bindings/threads_arg.h"
#include "core/check.h"
#include "core/parallel.h"
#include "core/utf8.h"

namespace rc {
namespace {

// The Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html).
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

bool is_utf8(const ArrowSchema& schema) { return !std::strcmp(schema.format, "u") || !std::strcmp(schema.format, "U"); }

constexpr int64_t VERY_LARGE = 1 << 20;  // characters
constexpr int64_t PIECE = 1 << 18;

// The UTF-8 of a string, in `room`. Room is made for the longest that it can be: memory that is not touched costs
// nothing. A very large string is measured first, and converted in pieces.
template <class Unit>
std::string_view to_utf8(const Unit* units, int64_t n, Utf8Room& room, int threads) {
  if (n < VERY_LARGE) {
    constexpr int64_t longest = sizeof(Unit) == 1 ? 2 : sizeof(Unit) == 2 ? 3 : 4;
    char* out = room.bytes(longest * n);
    return {out, static_cast<size_t>(write_utf8(units, n, out) - out)};
  }
  const int64_t pieces = (n + PIECE - 1) / PIECE;
  const auto length = [&](int64_t p) { return std::min(PIECE, n - p * PIECE); };
  std::vector<int64_t> ends(pieces + 1, 0);
  parallel_for(pieces, threads, 1, [&](int64_t p) { ends[p + 1] = utf8_size(units + p * PIECE, length(p)); });
  for (int64_t p = 0; p < pieces; p++) ends[p + 1] += ends[p];
  char* out = room.bytes(ends[pieces]);
  parallel_for(pieces, threads, 1, [&](int64_t p) { write_utf8(units + p * PIECE, length(p), out + ends[p]); });
  return {out, static_cast<size_t>(ends[pieces])};
}

// Reads the string only, which nobody changes: needs no GIL as long as somebody keeps it.
std::string_view to_utf8(PyObject* string, Utf8Room& room, int threads) {
  const Py_ssize_t n = PyUnicode_GET_LENGTH(string);
  const void* data = PyUnicode_DATA(string);
  const int kind = PyUnicode_KIND(string);
  if (kind == PyUnicode_1BYTE_KIND) return to_utf8(static_cast<const Py_UCS1*>(data), n, room, threads);
  if (kind == PyUnicode_2BYTE_KIND) return to_utf8(static_cast<const Py_UCS2*>(data), n, room, threads);
  return to_utf8(static_cast<const Py_UCS4*>(data), n, room, threads);
}

}  // namespace

bool has_surrogates(PyObject* string) {
  const auto among = [n = PyUnicode_GET_LENGTH(string)](const auto* units) {
    std::remove_const_t<std::remove_reference_t<decltype(*units)>> found = 0;  // of the units' size, for the compiler
    for (Py_ssize_t i = 0; i < n; i++) found |= (units[i] >> 11) == (0xD800 >> 11);
    return found != 0;
  };
  const void* data = PyUnicode_DATA(string);
  switch (PyUnicode_KIND(string)) {
    case PyUnicode_1BYTE_KIND: return false;
    case PyUnicode_2BYTE_KIND: return among(static_cast<const Py_UCS2*>(data));
    default: return among(static_cast<const Py_UCS4*>(data));
  }
}

char* Utf8Room::bytes(int64_t n) {
  if (n > size_ || !memory_) {
    memory_.reset();
    memory_.reset(static_cast<char*>(std::malloc(static_cast<size_t>(n))));
    if (n && !memory_) throw std::bad_alloc();
    size_ = n;
  }
  return memory_.get();
}

void Utf8Room::keep(int64_t n) {
  if (n >= size_) return;
  void* smaller = std::realloc(memory_.get(), static_cast<size_t>(std::max<int64_t>(n, 1)));
  if (!smaller) return;
  memory_.release();
  memory_.reset(static_cast<char*>(smaller));
  size_ = n;
}

Texts::Texts(const py::sequence& strings) {
  const auto fast = py::reinterpret_steal<py::object>(PySequence_Fast(strings.ptr(), "texts must be a sequence"));
  if (!fast) throw py::error_already_set();
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
  views_.reserve(n);
  ascii_.reserve(n);
  strings_.reserve(n);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.ptr(), i);
    if (!PyUnicode_Check(item))
      throw py::value_error("texts must be str; document " + std::to_string(i) + " is " + Py_TYPE(item)->tp_name);
    add_string(py::reinterpret_borrow<py::object>(item));
  }
  if (!converted_) threads_ = usual_threads();
}

void Texts::add_string(const py::object& string) {
  const bool ascii = PyUnicode_IS_ASCII(string.ptr());
  if (ascii)
    views_.emplace_back(static_cast<const char*>(PyUnicode_DATA(string.ptr())), PyUnicode_GET_LENGTH(string.ptr()));
  else
    views_.emplace_back();
  ascii_.push_back(ascii);
  if (!ascii) converted_ = false;
  strings_.push_back(string);
}

Texts::~Texts() = default;

void Texts::convert() const {
  std::vector<int64_t> documents;
  for (int64_t d = 0; d < size(); d++)
    if (!ascii_[d]) documents.push_back(d);
  owned_.resize(documents.size());
  const auto convert_one = [&](int64_t k, int workers) {
    std::string_view& view = views_[documents[k]];
    view = to_utf8(strings_[documents[k]].ptr(), owned_[k], workers);
    owned_[k].keep(static_cast<int64_t>(view.size()));
    view = {owned_[k].bytes(0), view.size()};
  };
  const auto is_large = [&](int64_t k) { return about_size(documents[k]) >= VERY_LARGE; };
  const auto n = static_cast<int64_t>(documents.size());
  parallel_for(n, threads_, 8, [&](int64_t k) {
    if (!is_large(k)) convert_one(k, 1);
  });
  for (int64_t k = 0; k < n; k++)
    if (is_large(k)) convert_one(k, threads_);
  converted_ = true;
}

std::string_view Texts::view(int64_t i, Utf8Room& room, int threads) const {
  return converted_ || ascii_[i] ? views_[i] : to_utf8(strings_[i].ptr(), room, threads);
}

int64_t Texts::about_size(int64_t i) const {
  return converted_ || ascii_[i] ? static_cast<int64_t>(views_[i].size()) : PyUnicode_GET_LENGTH(strings_[i].ptr());
}

bool Texts::has_surrogates(int64_t i) const { return !strings_.empty() && rc::has_surrogates(strings_[i].ptr()); }

std::unique_ptr<Texts> Texts::from_utf8(std::vector<TextBuffer>&& documents) {
  std::unique_ptr<Texts> texts(new Texts());
  const auto kept = std::make_shared<const std::vector<TextBuffer>>(std::move(documents));
  for (const TextBuffer& text : *kept) {
    texts->views_.push_back(text.view());
    texts->ascii_.push_back(all_ascii(text.data(), static_cast<int64_t>(text.size())));
  }
  texts->documents_.push_back(kept);
  return texts;
}

void Texts::extend(const Texts& other) {
  if (!strings_.empty() || !other.strings_.empty()) throw py::value_error("extend takes no Python strings");
  views_.insert(views_.end(), other.views_.begin(), other.views_.end());
  ascii_.insert(ascii_.end(), other.ascii_.begin(), other.ascii_.end());
  kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
  documents_.insert(documents_.end(), other.documents_.begin(), other.documents_.end());
}

std::unique_ptr<Texts> Texts::part(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size()) throw py::index_error("part is outside the batch");
  std::unique_ptr<Texts> texts(new Texts());
  if (!strings_.empty()) {
    for (int64_t i = begin; i < end; i++) texts->add_string(strings_[i]);
    texts->threads_ = threads_;
    return texts;
  }
  texts->views_.assign(views_.begin() + begin, views_.begin() + end);
  texts->ascii_.assign(ascii_.begin() + begin, ascii_.begin() + end);
  texts->kept_ = kept_;
  texts->documents_ = documents_;
  return texts;
}

std::unique_ptr<Texts> Texts::from_arrow(const py::object& source) {
  std::unique_ptr<Texts> texts(new Texts());
  if (py::hasattr(source, "__arrow_c_array__")) {
    texts->add_arrow(source.attr("__arrow_c_array__")());
    return texts;
  }
  // A chunked array or a column: each of its arrays in turn. The stream is read here, its arrays kept.
  py::capsule capsule = source.attr("__arrow_c_stream__")();
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (!stream || !stream->release) throw py::value_error("texts holds an Arrow stream that is already released");
  ArrowSchema schema;
  if (stream->get_schema(stream, &schema)) throw py::value_error("texts holds an Arrow stream without a schema");
  const bool strings = is_utf8(schema);
  const std::string format = schema.format;
  schema.release(&schema);
  if (!strings)
    throw py::value_error("texts must be an Arrow array of type string or large_string, not format " + format);
  const bool large = format == "U";
  for (;;) {
    auto* array = new ArrowArray{};
    py::capsule kept(array, [](void* p) {
      auto* a = static_cast<ArrowArray*>(p);
      if (a->release) a->release(a);
      delete a;
    });
    if (stream->get_next(stream, array)) throw py::value_error("texts holds an Arrow stream that cannot be read");
    if (!array->release) break;
    texts->add_arrow(py::make_tuple(py::bool_(large), kept));
  }
  return texts;
}

// (schema capsule | whether offsets are 64 bit, array capsule)
void Texts::add_arrow(const py::object& pair) {
  py::object first = pair[py::int_(0)], second = pair[py::int_(1)];
  bool large;
  const ArrowArray* array;
  if (PyBool_Check(first.ptr())) {
    large = first.cast<bool>();
    array = static_cast<const ArrowArray*>(PyCapsule_GetPointer(second.ptr(), nullptr));
  } else {
    const auto* schema = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(first.ptr(), "arrow_schema"));
    if (!schema) throw py::error_already_set();
    if (!is_utf8(*schema))
      throw py::value_error(std::string("texts must be an Arrow array of type string or large_string, not format ") +
                            schema->format);
    large = !std::strcmp(schema->format, "U");
    array = static_cast<const ArrowArray*>(PyCapsule_GetPointer(second.ptr(), "arrow_array"));
  }
  if (!array) throw py::error_already_set();
  const auto* valid = static_cast<const uint8_t*>(array->buffers[0]);
  const auto* data = static_cast<const char*>(array->buffers[2]);
  for (int64_t i = array->offset; i < array->offset + array->length; i++) {
    if (valid && !(valid[i >> 3] >> (i & 7) & 1))
      throw py::value_error("texts must not hold nulls; document " + std::to_string(size()) + " is null");
    int64_t start = 0, end = 0;
    if (large) {
      const auto* offsets = static_cast<const int64_t*>(array->buffers[1]);
      start = offsets[i], end = offsets[i + 1];
    } else {
      const auto* offsets = static_cast<const int32_t*>(array->buffers[1]);
      start = offsets[i], end = offsets[i + 1];
    }
    views_.emplace_back(data + start, end - start);
    ascii_.push_back(all_ascii(data + start, end - start));
  }
  kept_.push_back(second);
}

int64_t Texts::bytes() const {
  int64_t total = 0;
  for (const auto& view : views()) total += static_cast<int64_t>(view.size());
  return total;
}

py::str Texts::string(int64_t i) const {
  if (i < 0 || i >= size()) throw py::index_error("document " + std::to_string(i));
  if (!strings_.empty()) return py::reinterpret_borrow<py::str>(strings_[i]);
  return py::str(views_[i].data(), views_[i].size());
}

py::object Texts::slice(int64_t i, int64_t start, int64_t end, int64_t byte_start, int64_t byte_end) const {
  check(i >= 0 && i < size(), "document", "is outside the batch");
  const bool inside =
      strings_.empty() ? byte_start >= 0 && byte_start <= byte_end && byte_end <= static_cast<int64_t>(views_[i].size())
                       : start >= 0 && start <= end && end <= PyUnicode_GET_LENGTH(strings_[i].ptr());
  check(inside, "span", "is outside the document");
  PyObject* result = strings_.empty()
                         ? PyUnicode_DecodeUTF8(views_[i].data() + byte_start, byte_end - byte_start, nullptr)
                         : PyUnicode_Substring(strings_[i].ptr(), start, end);
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

TokenIndex::Counter python_counter(const py::object& function) {
  if (function.is_none()) return {};
  // Copied and destroyed by C++ code that may not hold the GIL, hence the shared holder that takes it.
  std::shared_ptr<py::object> kept(new py::object(function), [](py::object* o) {
    py::gil_scoped_acquire gil;
    delete o;
  });
  return [kept](std::string_view text) {
    py::gil_scoped_acquire gil;
    const auto n = (*kept)(py::str(text.data(), text.size())).cast<int64_t>();
    if (n < 0) throw py::value_error("tokenizer gives a negative number of tokens");
    return n;
  };
}

}  // namespace rc
