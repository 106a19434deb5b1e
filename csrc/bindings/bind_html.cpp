#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings/array_args.h"
#include "core/utf8.h"
#include "structure/html.h"

namespace rc {
namespace {

// Positions of the events from bytes to code points.
void to_points(HtmlText& result) {
  std::vector<int64_t*> positions;  // in rising order, for one pass over the text
  for (HtmlEvent& event : result.events) {
    positions.push_back(&event.start);
    if (event.level > 0 && event.level != kHtmlRow) positions.push_back(&event.end);
  }
  std::sort(positions.begin(), positions.end(), [](const int64_t* a, const int64_t* b) { return *a < *b; });
  int64_t byte = 0, point = 0;
  for (int64_t* position : positions) {
    point += count_code_points(result.text.data() + byte, *position - byte);
    byte = std::exchange(*position, point);
  }
}

// (text, events): int64 [n, 3]
py::tuple as_tuple(const HtmlText& result) {
  static_assert(sizeof(HtmlEvent) == 3 * sizeof(int64_t));
  const auto n = static_cast<py::ssize_t>(result.events.size());
  py::array_t<int64_t> events({n, py::ssize_t{3}});
  if (n > 0) std::memcpy(events.mutable_data(), result.events.data(), result.events.size() * sizeof(HtmlEvent));
  return py::make_tuple(py::str(result.text), events);
}

py::tuple text_of(const py::str& html, const std::vector<std::string>& section_tags,
                  const std::vector<std::string>& drop_tags) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(html.ptr(), &size);
  if (utf8 == nullptr) throw py::error_already_set();
  HtmlText result;
  {
    py::gil_scoped_release release;
    result = html_text({utf8, static_cast<size_t>(size)}, section_tags, drop_tags);
    to_points(result);
  }
  return as_tuple(result);
}

// Python has the standard's table of names.
const HtmlEntities& entities() {
  static HtmlEntities* const table = [] {
    auto* t = new HtmlEntities;
    const py::dict names = py::module_::import("html.entities").attr("html5");
    for (const auto& [name, characters] : names) t->add(name.cast<std::string>(), characters.cast<std::string>());
    return t;
  }();
  return *table;
}

py::object page_of(const py::str& html, const std::vector<std::string>& section_tags) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(html.ptr(), &size);
  if (utf8 == nullptr) {  // a lone surrogate
    PyErr_Clear();
    return py::none();
  }
  const HtmlEntities& names = entities();
  HtmlText result;
  bool read;
  {
    py::gil_scoped_release release;
    read = html_page({utf8, static_cast<size_t>(size)}, names, section_tags, result);
    if (read) to_points(result);
  }
  return read ? py::object(as_tuple(result)) : py::none();
}

}  // namespace

void bind_html(py::module_& m) {
  m.def("html_text", &text_of, py::arg("html"), py::arg("section_tags") = std::vector<std::string>{},
        py::arg("drop_tags") = std::vector<std::string>{});
  m.def("html_page", &page_of, py::arg("html"), py::arg("section_tags") = std::vector<std::string>{});
}

}  // namespace rc
