#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bindings/array_args.h"
#include "bindings/text_args.h"
#include "core/check.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "structure/html.h"
#include "structure/html_sections.h"

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
  return py::make_tuple(py::str(result.text.data(), result.text.size()), events);
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

// Appends b to a, where b's entries are counted from `base` on; an entry of -1 stays.
template <class T>
void append(std::vector<T>& a, const std::vector<T>& b, T base = 0) {
  for (T value : b) a.push_back(base && value >= 0 ? static_cast<T>(value + base) : value);
}

// The sections of documents as columns.
py::dict columns_of(std::vector<HtmlSections>&& documents) {
  HtmlSections all;
  std::vector<int64_t> offsets{0}, path_document, title_start, title_end;
  for (size_t d = 0; d < documents.size(); d++) {
    HtmlSections& own = documents[d];
    append(all.path, own.path, static_cast<int64_t>(all.path_parent.size()));
    append(all.path_parent, own.path_parent, static_cast<int64_t>(all.path_parent.size()));
    own.tables.erase(own.tables.begin());
    append(all.tables, own.tables, static_cast<int64_t>(all.table_start.size()));
    own.rows.erase(own.rows.begin());
    append(all.rows, own.rows, static_cast<int64_t>(all.row.size()));
    append(all.start, own.start);
    append(all.end, own.end);
    append(all.bare, own.bare);
    append(all.table_start, own.table_start);
    append(all.table_end, own.table_end);
    append(all.head_end, own.head_end);
    append(all.loose, own.loose);
    append(all.row, own.row);
    for (const Span& title : own.title) {
      path_document.push_back(static_cast<int64_t>(d));
      title_start.push_back(title.start);
      title_end.push_back(title.end);
    }
    offsets.push_back(static_cast<int64_t>(all.start.size()));
    own = {};
  }
  py::dict out;
  out["offsets"] = take(std::move(offsets));
  out["apart"] = take(std::vector<uint8_t>(all.start.size()));
  out["start"] = take(std::move(all.start));
  out["end"] = take(std::move(all.end));
  out["bare"] = take(std::move(all.bare));
  out["path"] = take(std::move(all.path));
  out["path_parent"] = take(std::move(all.path_parent));
  out["path_document"] = take(std::move(path_document));
  out["title_start"] = take(std::move(title_start));
  out["title_end"] = take(std::move(title_end));
  out["tables"] = take(std::move(all.tables));
  out["table_start"] = take(std::move(all.table_start));
  out["table_end"] = take(std::move(all.table_end));
  out["head_end"] = take(std::move(all.head_end));
  out["loose"] = take(std::move(all.loose));
  out["rows"] = take(std::move(all.rows));
  out["row"] = take(std::move(all.row));
  return out;
}

// The pages of a batch: their texts and sections, as far as one pass can tell; the others, or all, are given as trees.
class HtmlPages {
 public:
  HtmlPages(const Texts& pages, const std::vector<std::string>& section_tags, int threads, bool trees)
      : section_tags_(section_tags), texts_(static_cast<size_t>(pages.size())), sections_(texts_.size()) {
    const HtmlEntities& names = entities();
    std::vector<uint8_t> unread(texts_.size());
    {
      py::gil_scoped_release release;
      parallel_for(pages.size(), threads, 1, [&](int64_t d) {
        Utf8Room room;
        const auto i = static_cast<size_t>(d);
        static thread_local HtmlText found;  // serves the next page too
        if (!trees && !pages.has_surrogates(d) && html_page(pages.view(d, room), names, section_tags_, found))
          keep(i, found);
        else
          unread[i] = true;
      });
    }
    for (size_t d = 0; d < unread.size(); d++)
      if (unread[d]) unread_.push_back(static_cast<int64_t>(d));
  }

  const std::vector<int64_t>& unread() const { return unread_; }

  // The page `document` as a parser has written it out.
  void read(int64_t document, const py::str& html, const std::vector<std::string>& drop_tags) {
    check(document >= 0 && document < static_cast<int64_t>(texts_.size()), "document", "is outside the batch");
    Py_ssize_t size = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(html.ptr(), &size);
    if (utf8 == nullptr) throw py::error_already_set();
    py::gil_scoped_release release;
    HtmlText found = html_text({utf8, static_cast<size_t>(size)}, section_tags_, drop_tags);
    keep(static_cast<size_t>(document), found);
  }

  // (texts, columns of sections), once.
  py::tuple take_all() {
    auto texts = Texts::from_utf8(std::exchange(texts_, {}));
    return py::make_tuple(std::move(texts), columns_of(std::exchange(sections_, {})));
  }

 private:
  static constexpr size_t kLarge = 1 << 20;

  void keep(size_t document, HtmlText& found) {
    html_sections(found, sections_[document]);
    if (found.text.size() < kLarge) {
      texts_[document] = TextBuffer(found.text.view());
    } else {
      found.text.shrink();
      texts_[document] = std::exchange(found.text, {});
    }
    if (found.events.capacity() > kLarge / 32) found = {};
  }

  const std::vector<std::string> section_tags_;
  std::vector<TextBuffer> texts_;
  std::vector<HtmlSections> sections_;
  std::vector<int64_t> unread_;
};

}  // namespace

void bind_html(py::module_& m) {
  m.def("html_text", &text_of, py::arg("html"), py::arg("section_tags") = std::vector<std::string>{},
        py::arg("drop_tags") = std::vector<std::string>{});
  m.def("html_page", &page_of, py::arg("html"), py::arg("section_tags") = std::vector<std::string>{});
  py::class_<HtmlPages>(m, "HtmlPages")
      .def(py::init<const Texts&, const std::vector<std::string>&, int, bool>(), py::arg("pages"),
           py::arg("section_tags"), py::arg("threads") = 1, py::arg("trees") = false)
      .def_property_readonly("unread", &HtmlPages::unread)
      .def("read", &HtmlPages::read, py::arg("document"), py::arg("html"), py::arg("drop_tags"))
      .def("take", &HtmlPages::take_all);
}

}  // namespace rc
