// A C-contiguous [n, H] array of float32 or float16 numbers.
#pragma once
#include "bindings/array_args.h"

namespace rc {

struct FloatRows {
  const void* data = nullptr;
  bool half = false;
  int64_t rows = 0, columns = 0;
};

inline FloatRows float_rows(const py::array& array, const char* name) {
  const py::dtype type = array.dtype();
  const bool half = type.equal(py::dtype("float16")), single = type.equal(py::dtype("float32"));
  if (!half && !single)
    throw py::value_error(std::string(name) + " must have dtype float32 or float16, not " +
                          py::str(type).cast<std::string>());
  if (array.ndim() != 2)
    throw py::value_error(std::string(name) + " must have 2 dimension(s), not " + std::to_string(array.ndim()));
  if (!(array.flags() & py::array::c_style)) throw py::value_error(std::string(name) + " must be C-contiguous");
  return {array.data(), half, array.shape(0), array.shape(1)};
}

}  // namespace rc
