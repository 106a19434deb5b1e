#include <pybind11/stl.h>

#include <optional>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/text_args.h"
#include "bindings/threads_arg.h"
#include "core/check.h"
#include "core/graphemes.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/utf8.h"

namespace rc {

namespace {

class ByteLevelIndexes {
 public:
  ByteLevelIndexes(const Texts& texts, const py::array& lengths)
      : texts_(texts), lengths_(lengths), table_(view<int32_t>(lengths_, "lengths")), out_(new TokenIndexes) {
    for (int64_t d = 0; d < texts.size(); d++)
      out_->documents.emplace_back(static_cast<int64_t>(texts[d].size()), Additivity::spaces);
    ends_.resize(texts.size());
  }

  void add(int64_t document, const py::array& ids) {
    check(out_ && document >= 0 && document < texts_.size(), "document", "is outside the batch");
    const auto row = view<int32_t>(ids, "ids");
    ends_[document] =
        out_->documents[document].add_byte_level(ends_[document], row.data, row.size(), table_.data, table_.size());
  }

  std::unique_ptr<TokenIndexes> finish(const py::object& counter, int threads) {
    for (int64_t d = 0; d < texts_.size(); d++)
      check(out_ && ends_[d] == static_cast<int64_t>(texts_[d].size()), "ids", "are not those of the whole text");
    out_->counter = python_counter(counter);
    out_->python_counter = true;
    py::gil_scoped_release release;
    parallel_for(texts_.size(), threads, 16, [&](int64_t d) { out_->documents[d].add_words_by_space(texts_[d]); });
    return std::move(out_);
  }

 private:
  const Texts& texts_;
  py::array lengths_;
  View<int32_t> table_;
  std::unique_ptr<TokenIndexes> out_;
  std::vector<int64_t> ends_;  // where the ids of each document end so far
};

}  // namespace

void bind_core(py::module_& m) {
  m.def("simd_level", [] { return simd_name(simd_level()); });
  m.def("default_threads", &usual_threads);

  m.def("has_surrogates", [](const py::str& text) { return has_surrogates(text.ptr()); });

  py::class_<Texts>(m, "Texts")
      .def(py::init<const py::sequence&>(), py::arg("strings"))
      .def_static("from_arrow", &Texts::from_arrow, py::arg("source"))
      .def("__len__", &Texts::size)
      .def("__getitem__", &Texts::string)
      .def_property_readonly("bytes", &Texts::bytes)
      .def("extend", &Texts::extend, py::arg("other"))
      .def("part", &Texts::part, py::arg("begin"), py::arg("end"))
      .def("sizes",
           [](const Texts& t) {
             std::vector<int64_t> out;
             for (const auto& text : t.views()) out.push_back(static_cast<int64_t>(text.size()));
             return take(std::move(out));
           })
      .def(
          "utf8",
          [](const Texts& t, int64_t i, int64_t start, const std::optional<int64_t>& end) {
            if (i < 0 || i >= t.size()) throw py::index_error("document " + std::to_string(i));
            const int64_t size = static_cast<int64_t>(t[i].size()), stop = end.value_or(size);
            check(start >= 0 && start <= stop && stop <= size, "span", "is outside the document");
            return py::bytes(t[i].data() + start, stop - start);
          },
          py::arg("document"), py::arg("start") = 0, py::arg("end") = py::none())
      .def("slice", &Texts::slice)
      .def("slices", [](const Texts& t, const py::array& document, const py::array& start, const py::array& end,
                        const py::array& byte_start, const py::array& byte_end) {
        const auto d = view<int64_t>(document, "document"), s = view<int64_t>(start, "start"),
                   e = view<int64_t>(end, "end"), bs = view<int64_t>(byte_start, "byte_start"),
                   be = view<int64_t>(byte_end, "byte_end");
        check(s.size() == d.size() && e.size() == d.size() && bs.size() == d.size() && be.size() == d.size(), "start",
              "must be as long as document");
        py::list out(d.size());
        for (int64_t i = 0; i < d.size(); i++) out[i] = t.slice(d[i], s[i], e[i], bs[i], be[i]);
        return out;
      });

  m.def(
      "code_point_offsets",
      [](const Texts& texts, const py::array& document, const py::array& positions) {
        const auto d = view<int64_t>(document, "document"), p = view<int64_t>(positions, "positions");
        check(d.size() == p.size(), "positions", "must be as long as document");
        std::vector<int64_t> out(p.data, p.data + p.size());
        for (int64_t i = 0; i < d.size(); i++) {
          check(d[i] >= 0 && d[i] < texts.size() && (i == 0 || d[i] >= d[i - 1]), "document",
                "must be in order and within the batch");
          check(p[i] >= 0 && (i == 0 || d[i] != d[i - 1] || p[i] >= p[i - 1]), "positions", "must be in order");
        }
        py::gil_scoped_release release;
        for (int64_t i = 0; i < d.size();) {
          int64_t j = i;
          while (j < d.size() && d[j] == d[i]) j++;
          if (!texts.ascii(d[i]))
            to_code_points(texts[d[i]].data(), static_cast<int64_t>(texts[d[i]].size()), out.data() + i, j - i);
          i = j;
        }
        py::gil_scoped_acquire acquire;
        return take(std::move(out));
      },
      py::arg("texts"), py::arg("document"), py::arg("positions"));

  m.def(
      "byte_offsets",
      [](const Texts& texts, const py::array& offsets, const py::array& spans) {
        const auto o = view<int64_t>(offsets, "offsets"), s = view<int64_t>(spans, "spans", 2);
        check(s.columns == 2, "spans", "must have two columns");
        check(o.size() == texts.size() + 1 && o[0] == 0 && o[texts.size()] == s.rows, "offsets",
              "must fit the spans and the texts");
        std::vector<int64_t> out(s.data, s.data + s.size());
        for (int64_t d = 0; d < texts.size(); d++) {
          check(o[d] <= o[d + 1], "offsets", "must not decrease");
          int64_t before = 0;
          for (int64_t i = 2 * o[d]; i < 2 * o[d + 1]; i++) {
            check(out[i] >= before, "spans", "must be in order and not overlap");
            before = out[i];
          }
        }
        {
          py::gil_scoped_release release;
          for (int64_t d = 0; d < texts.size(); d++)
            if (!texts.ascii(d))
              to_bytes(texts[d].data(), static_cast<int64_t>(texts[d].size()), out.data() + 2 * o[d],
                       2 * (o[d + 1] - o[d]));
        }
        return take(std::move(out)).reshape({static_cast<py::ssize_t>(s.rows), py::ssize_t{2}});
      },
      py::arg("texts"), py::arg("offsets"), py::arg("spans"));

  m.def("is_cluster_boundary", [](const Texts& texts, int64_t document, int64_t at) {
    check(document >= 0 && document < texts.size(), "document", "is outside the batch");
    return is_cluster_boundary(texts[document].data(), static_cast<int64_t>(texts[document].size()), at, 0);
  });

  py::class_<TokenIndexes>(m, "TokenIndexes")
      .def("__len__", [](const TokenIndexes& t) { return t.documents.size(); })
      .def("sizes", [](const TokenIndexes& t, const py::array& document, const py::array& start, const py::array& end) {
        const auto d = view<int64_t>(document, "document"), s = view<int64_t>(start, "start"),
                   e = view<int64_t>(end, "end");
        std::vector<int64_t> out(d.size());
        for (int64_t i = 0; i < d.size(); i++) out[i] = t.documents.at(d[i]).size(s[i], e[i]);
        return take(std::move(out));
      });
  m.def(
      "word_indexes",
      [](const Texts& texts, int threads) {
        auto out = std::make_unique<TokenIndexes>();
        out->documents.resize(texts.size());
        py::gil_scoped_release release;
        parallel_for(texts.size(), threads, 16, [&](int64_t d) { out->documents[d] = word_index(texts[d]); });
        return out;
      },
      py::arg("texts"), py::arg("threads") = 1);
  // Token indexes from byte-level BPE ids, which arrive document by document, a document's in one array or several.
  py::class_<ByteLevelIndexes>(m, "ByteLevelIndexes")
      .def(py::init<const Texts&, const py::array&>(), py::arg("texts"), py::arg("lengths"), py::keep_alive<1, 2>())
      .def("add", &ByteLevelIndexes::add, py::arg("document"), py::arg("ids"))
      .def("finish", &ByteLevelIndexes::finish, py::arg("counter"), py::arg("threads") = 1);
  // Tokens from their first bytes; `continues` tells which tokens go on with the word of the one before.
  m.def(
      "span_indexes",
      [](const Texts& texts, const py::array& starts, const py::object& continues, const py::array& offsets,
         const py::object& counter) {
        const auto s = view<int64_t>(starts, "starts"), o = view<int64_t>(offsets, "offsets");
        View<uint8_t> c;
        if (!continues.is_none()) c = view<uint8_t>(continues.cast<py::array>(), "continues");
        check(o.size() == texts.size() + 1 && o[texts.size()] <= s.size(), "offsets",
              "must fit the starts and the texts");
        check(!c.data || c.size() == s.size(), "continues", "must be as long as starts");
        auto out = std::make_unique<TokenIndexes>();
        out->counter = python_counter(counter);
        out->python_counter = true;
        for (int64_t d = 0; d < texts.size(); d++) {
          TokenIndex index(static_cast<int64_t>(texts[d].size()), c.data ? Additivity::words : Additivity::never);
          int64_t before = 0;
          for (int64_t t = o[d]; t < o[d + 1]; t++) {
            check(s[t] >= before && s[t] < index.bytes(), "starts", "must be in order and inside the text");
            before = s[t];
            index.add_token(s[t]);
            if (c.data && !c[t]) index.add_word(s[t]);
          }
          if (!c.data) index.add_words_by_space(texts[d]);
          out->documents.push_back(std::move(index));
        }
        return out;
      },
      py::arg("texts"), py::arg("starts"), py::arg("continues"), py::arg("offsets"), py::arg("counter"));
}

}  // namespace rc
