#include <pybind11/stl.h>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/text_args.h"
#include "core/check.h"
#include "core/parallel.h"
#include "tokens/unicode_tables.h"
#include "tokens/wordpiece.h"
#include "tokens/wordpiece_index.h"

namespace rc {
namespace {

// The column becomes the array's memory.
template <class T>
py::array_t<T> take_column(Column<T>&& column, int64_t size) {
  T* data = column.release();
  py::capsule owner(data, [](void* p) { std::free(p); });
  return py::array_t<T>({static_cast<py::ssize_t>(size)}, {static_cast<py::ssize_t>(sizeof(T))}, data, owner);
}

struct ByteTexts {
  std::vector<const char*> data;
  std::vector<int64_t> sizes;
};

// Pointers into the caller's bytes objects, which the list keeps alive.
ByteTexts texts_of(const py::list& list) {
  ByteTexts texts;
  texts.data.reserve(list.size());
  texts.sizes.reserve(list.size());
  for (const py::handle item : list) {
    if (!PyBytes_Check(item.ptr())) throw py::type_error("texts must be a list of bytes");
    texts.data.push_back(PyBytes_AS_STRING(item.ptr()));
    texts.sizes.push_back(PyBytes_GET_SIZE(item.ptr()));
  }
  return texts;
}

int checked(int threads) {
  check(threads >= 0, "threads", "must not be negative");
  return threads == 0 ? default_threads() : threads;
}

using AddedTuple = std::tuple<std::string, int32_t, bool, bool, bool, bool, bool>;

std::unique_ptr<WordPiece> make(std::vector<std::string> vocab, bool lowercase, bool strip_accents, bool clean_text,
                                bool handle_chinese_chars, std::string unk, std::string prefix,
                                int64_t max_input_chars_per_word, bool encode_special,
                                const std::vector<AddedTuple>& added) {
  WordPieceOptions options;
  options.lowercase = lowercase;
  options.strip_accents = strip_accents;
  options.clean_text = clean_text;
  options.handle_chinese_chars = handle_chinese_chars;
  options.unk = std::move(unk);
  options.prefix = std::move(prefix);
  options.max_input_chars_per_word = max_input_chars_per_word;
  options.encode_special = encode_special;
  for (const auto& [content, id, normalized, lstrip, rstrip, single_word, special] : added)
    options.added.push_back({content, id, normalized, lstrip, rstrip, single_word, special});
  return std::make_unique<WordPiece>(std::move(vocab), std::move(options));
}

}  // namespace

void bind_wordpiece(py::module_& m) {
  m.def(
      "wordpiece_indexes",
      [](const Texts& texts, const std::shared_ptr<WordPiece>& wordpiece, int threads, bool ids) {
        auto out = std::make_unique<TokenIndexes>();
        out->counter = [wordpiece](std::string_view text) {
          return wordpiece->count(text.data(), static_cast<int64_t>(text.size()));
        };
        if (ids) out->ids_of = wordpiece.get();
        py::gil_scoped_release release;
        out->documents = wordpiece_indexes(texts.views(), *wordpiece, ids, threads);
        return out;
      },
      py::arg("texts"), py::arg("wordpiece"), py::arg("threads") = 1, py::arg("ids") = false);

  py::class_<WordPiece, std::shared_ptr<WordPiece>>(m, "WordPiece")
      .def(py::init(&make), py::arg("vocab"), py::kw_only(), py::arg("lowercase") = true,
           py::arg("strip_accents") = true, py::arg("clean_text") = true, py::arg("handle_chinese_chars") = true,
           py::arg("unk") = "[UNK]", py::arg("prefix") = "##", py::arg("max_input_chars_per_word") = 100,
           py::arg("encode_special") = false, py::arg("added") = std::vector<AddedTuple>{})
      .def(
          "encode",
          [](const WordPiece& self, const py::list& list, int threads) {
            const ByteTexts texts = texts_of(list);
            const int64_t n = static_cast<int64_t>(texts.data.size());
            threads = checked(threads);
            TokenColumns out;
            std::vector<int64_t> offsets(static_cast<size_t>(n) + 1);
            {
              py::gil_scoped_release release;
              self.encode(texts.data.data(), texts.sizes.data(), n, threads, out, offsets.data());
              out.shrink();
            }
            return py::make_tuple(take_column(std::move(out.ids), out.size),
                                  take_column(std::move(out.starts), out.size),
                                  take_column(std::move(out.ends), out.size),
                                  take_column(std::move(out.continues), out.size), take(std::move(offsets)));
          },
          py::arg("texts"), py::arg("threads") = 1)
      .def(
          "count",
          [](const WordPiece& self, const py::list& list, int threads) {
            const ByteTexts texts = texts_of(list);
            threads = checked(threads);
            std::vector<int64_t> counts(texts.data.size());
            {
              py::gil_scoped_release release;
              self.count(texts.data.data(), texts.sizes.data(), static_cast<int64_t>(texts.data.size()), threads,
                         counts.data());
            }
            return take(std::move(counts));
          },
          py::arg("texts"), py::arg("threads") = 1)
      .def("token_to_id",
           [](const WordPiece& self, const std::string& token) -> py::object {
             const int32_t id = self.token_to_id(token);
             return id < 0 ? py::object(py::none()) : py::object(py::int_(id));
           })
      .def_property_readonly("vocab_size", &WordPiece::vocab_size)
      .def_property_readonly("unk_id", &WordPiece::unk_id)
      .def_property_readonly("vocab", &WordPiece::vocabulary)
      .def_property_readonly("options",
                             [](const WordPiece& self) {
                               const WordPieceOptions& o = self.options();
                               std::vector<AddedTuple> added;
                               for (const AddedToken& t : o.added)
                                 added.emplace_back(t.content, t.id, t.normalized, t.lstrip, t.rstrip, t.single_word,
                                                    t.special);
                               py::dict d;
                               d["lowercase"] = o.lowercase;
                               d["strip_accents"] = o.strip_accents;
                               d["clean_text"] = o.clean_text;
                               d["handle_chinese_chars"] = o.handle_chinese_chars;
                               d["unk"] = o.unk;
                               d["prefix"] = o.prefix;
                               d["max_input_chars_per_word"] = o.max_input_chars_per_word;
                               d["encode_special"] = o.encode_special;
                               d["added"] = added;
                               return d;
                             })
      .def(py::pickle([](const py::object& self) { return py::make_tuple(self.attr("vocab"), self.attr("options")); },
                      [](const py::tuple& state) {
                        const py::dict o = state[1];
                        return make(state[0].cast<std::vector<std::string>>(), o["lowercase"].cast<bool>(),
                                    o["strip_accents"].cast<bool>(), o["clean_text"].cast<bool>(),
                                    o["handle_chinese_chars"].cast<bool>(), o["unk"].cast<std::string>(),
                                    o["prefix"].cast<std::string>(), o["max_input_chars_per_word"].cast<int64_t>(),
                                    o["encode_special"].cast<bool>(), o["added"].cast<std::vector<AddedTuple>>());
                      }));

  m.def(
      "unicode_record",
      [](uint32_t c) {
        check(c < 0x110000, "code_point", "must be below 0x110000");
        const unicode::Record& r = unicode::record(c);
        std::vector<uint32_t> lower, parts;
        if (r.lower_size > 1) {
          lower.assign(unicode::kExpansions + r.lower, unicode::kExpansions + r.lower + r.lower_size);
        } else {
          lower.push_back(static_cast<uint32_t>(static_cast<int32_t>(c) + r.lower));
        }
        parts.assign(unicode::kExpansions + r.decomposition,
                     unicode::kExpansions + r.decomposition + r.decomposition_size);
        return py::make_tuple(static_cast<int>(r.flags), static_cast<int>(r.combining_class), lower, parts);
      },
      py::arg("code_point"),
      "(flags, combining class, lower case, decomposition or []) of a code point, as the tokenizer sees it.");
}

}  // namespace rc
