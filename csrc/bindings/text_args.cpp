#include "bindings/text_args.h"

#include <cstring>
#include <new>

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

using Owned = std::unique_ptr<char, decltype(&std::free)>;

// The UTF-8 of a string. Room is made for the longest that it can be, and what is left over (and was never touched) is
// given back: sooner than a pass for the size, which is made for very large strings only.
template <class Unit>
Owned to_utf8(const Unit* units, int64_t n, int64_t& bytes) {
  constexpr int64_t very_large = 1 << 22, longest = sizeof(Unit) == 1 ? 2 : sizeof(Unit) == 2 ? 3 : 4;
  const auto room = static_cast<size_t>(n < very_large ? longest * n : utf8_size(units, n));
  Owned out(static_cast<char*>(std::malloc(room)), &std::free);
  if (!out) throw std::bad_alloc();
  bytes = write_utf8(units, n, out.get()) - out.get();
  if (void* smaller = std::realloc(out.get(), static_cast<size_t>(bytes))) {
    out.release();
    out.reset(static_cast<char*>(smaller));
  }
  return out;
}

}  // namespace

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
    const Py_ssize_t length = PyUnicode_GET_LENGTH(item);
    const void* data = PyUnicode_DATA(item);
    if (PyUnicode_IS_ASCII(item)) {
      views_.emplace_back(static_cast<const char*>(data), length);
      ascii_.push_back(1);
    } else {
      int64_t bytes = 0;
      const int kind = PyUnicode_KIND(item);
      Owned utf8 = kind == PyUnicode_1BYTE_KIND   ? to_utf8(static_cast<const Py_UCS1*>(data), length, bytes)
                   : kind == PyUnicode_2BYTE_KIND ? to_utf8(static_cast<const Py_UCS2*>(data), length, bytes)
                                                  : to_utf8(static_cast<const Py_UCS4*>(data), length, bytes);
      views_.emplace_back(utf8.get(), bytes);
      ascii_.push_back(0);
      owned_.push_back(std::move(utf8));
    }
    strings_.push_back(py::reinterpret_borrow<py::object>(item));
  }
}

Texts::~Texts() = default;

std::unique_ptr<Texts> Texts::part(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size()) throw py::index_error("part is outside the batch");
  if (!owned_.empty()) throw py::value_error("part takes a batch made from Arrow");
  std::unique_ptr<Texts> texts(new Texts());
  texts->views_.assign(views_.begin() + begin, views_.begin() + end);
  texts->ascii_.assign(ascii_.begin() + begin, ascii_.begin() + end);
  if (!strings_.empty()) texts->strings_.assign(strings_.begin() + begin, strings_.begin() + end);
  texts->kept_ = kept_;
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
  for (const auto& view : views_) total += static_cast<int64_t>(view.size());
  return total;
}

py::str Texts::string(int64_t i) const {
  if (i < 0 || i >= size()) throw py::index_error("document " + std::to_string(i));
  if (!strings_.empty()) return py::reinterpret_borrow<py::str>(strings_[i]);
  return py::str(views_[i].data(), views_[i].size());
}

py::object Texts::slice(int64_t i, int64_t start, int64_t end, int64_t byte_start, int64_t byte_end) const {
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
