#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "bindings/array_args.h"
#include "core/utf8.h"
#include "structure/html.h"

namespace rc {
namespace {

py::tuple html_text_of(const py::str& html, const std::vector<std::string>& section_tags,
                       const std::vector<std::string>& drop_tags) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(html.ptr(), &size);
  if (utf8 == nullptr) throw py::error_already_set();
  HtmlText result;
  {
    py::gil_scoped_release release;
    result = html_text({utf8, static_cast<size_t>(size)}, section_tags, drop_tags);
    std::vector<int64_t*> positions;  // in rising order, to go from bytes to code points in one pass
    for (HtmlEvent& event : result.events) {
      positions.push_back(&event.start);
      if (event.level > 0) positions.push_back(&event.end);
    }
    std::sort(positions.begin(), positions.end(), [](const int64_t* a, const int64_t* b) { return *a < *b; });
    int64_t byte = 0, point = 0;
    for (int64_t* position : positions) {
      point += count_code_points(result.text.data() + byte, *position - byte);
      byte = std::exchange(*position, point);
    }
  }
  py::list events;
  for (const HtmlEvent& event : result.events) events.append(py::make_tuple(event.start, event.level, event.end));
  return py::make_tuple(py::str(result.text), events);
}

}  // namespace

void bind_html(py::module_& m) {
  m.def("html_text", &html_text_of, py::arg("html"), py::arg("section_tags") = std::vector<std::string>{},
        py::arg("drop_tags") = std::vector<std::string>{});
}

}  // namespace rc
