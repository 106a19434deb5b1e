// NumPy arguments and results without copies. view<T>() refuses what it cannot use as it is, and names the argument.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

namespace rc {

namespace py = pybind11;

template <class T>
struct View {
  const T* data = nullptr;
  int64_t rows = 0, columns = 1;  // columns is 1 for a vector
  int64_t size() const { return rows * columns; }
  const T& operator[](int64_t i) const { return data[i]; }
};

// A C-contiguous array of exactly this dtype and number of dimensions (1 or 2).
template <class T>
View<T> view(const py::array& array, const char* name, int dimensions = 1) {
  const auto want = py::dtype::of<T>();
  if (!py::dtype(array.dtype()).is(want) && !array.dtype().equal(want))
    throw py::value_error(std::string(name) + " must have dtype " + py::str(want).cast<std::string>() + ", not " +
                          py::str(array.dtype()).cast<std::string>());
  if (array.ndim() != dimensions)
    throw py::value_error(std::string(name) + " must have " + std::to_string(dimensions) + " dimension(s), not " +
                          std::to_string(array.ndim()));
  if (!(array.flags() & py::array::c_style)) throw py::value_error(std::string(name) + " must be C-contiguous");
  return {static_cast<const T*>(array.data()), array.shape(0), dimensions == 2 ? array.shape(1) : 1};
}

// The vector becomes the array's memory.
template <class T>
py::array_t<T> take(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>({static_cast<py::ssize_t>(kept->size())}, {static_cast<py::ssize_t>(sizeof(T))}, kept->data(),
                        owner);
}

// The same for memory that was not set to zero first.
template <class T>
py::array_t<T> take(std::unique_ptr<T[]>&& values, size_t n) {
  py::capsule owner(values.get(), [](void* p) { delete[] static_cast<T*>(p); });
  return py::array_t<T>({static_cast<py::ssize_t>(n)}, {static_cast<py::ssize_t>(sizeof(T))}, values.release(), owner);
}

// Columns that lie one after the other in one piece of memory, which lives as long as any of them.
template <class T>
py::tuple take_columns(std::unique_ptr<T[]>&& values, size_t columns, size_t rows) {
  T* first = values.get();
  py::capsule owner(values.release(), [](void* p) { delete[] static_cast<T*>(p); });
  py::tuple out(columns);
  for (size_t i = 0; i < columns; i++)
    out[i] = py::array_t<T>({static_cast<py::ssize_t>(rows)}, {static_cast<py::ssize_t>(sizeof(T))}, first + i * rows,
                            owner);
  return out;
}

}  // namespace rc
