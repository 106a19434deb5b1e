#include <string>

#include "bindings/array_args.h"
#include "bindings/bindings.h"
#include "bindings/threads_arg.h"
#include "core/offsets.h"
#include "tokens/windows.h"

namespace rc {
namespace {

Tail tail_of(const std::string& name) {
  if (name == "keep") return Tail::keep;
  if (name == "drop") return Tail::drop;
  check(name == "join", "tail", "must be 'keep', 'drop' or 'join', not '" + name + "'");
  return Tail::join;
}

py::tuple bind_token_windows(const py::array& doc_offsets, int64_t max_tokens, int64_t overlap, const std::string& tail,
                             int64_t min_tokens, const Threads& threads) {
  const auto offsets = view<int64_t>(doc_offsets, "doc_offsets");
  const Tail rule = tail_of(tail);
  const int workers = thread_count(threads);
  const int64_t documents = check_offsets(offsets.data, offsets.rows, -1, "doc_offsets");
  const int64_t total = window_total(offsets.data, documents, max_tokens, overlap, rule, min_tokens);
  py::array_t<int32_t> document(total);
  py::array_t<int64_t> start(total), end(total);
  {
    int32_t* d = document.mutable_data();
    int64_t *s = start.mutable_data(), *e = end.mutable_data();
    py::gil_scoped_release release;
    token_windows(offsets.data, documents, max_tokens, overlap, rule, min_tokens, d, s, e, workers);
  }
  return py::make_tuple(document, start, end);
}

WindowTokens window_tokens(const py::array& ids, const py::array& start, const py::array& end, const py::array& prefix,
                           const py::array& suffix) {
  const auto i = view<int32_t>(ids, "ids"), p = view<int32_t>(prefix, "prefix"), s = view<int32_t>(suffix, "suffix");
  const auto from = view<int64_t>(start, "start"), to = view<int64_t>(end, "end");
  check(from.rows == to.rows, "end", "must have as many entries as start");
  return {i.data, i.rows, from.data, to.data, from.rows, p.data, p.rows, s.data, s.rows};
}

py::tuple bind_gather_windows(const py::array& ids, const py::array& start, const py::array& end,
                              const py::array& prefix, const py::array& suffix, int32_t pad_id,
                              const std::optional<int64_t>& length, const Threads& threads) {
  const WindowTokens w = window_tokens(ids, start, end, prefix, suffix);
  const int workers = thread_count(threads);
  const int64_t longest = window_longest(w);
  check(!length || *length >= longest, "length",
        "must be at least " + std::to_string(longest) + ", the longest window");
  const int64_t columns = length.value_or(longest);
  py::array_t<int64_t> input_ids({w.windows, columns}), mask({w.windows, columns});
  {
    int64_t *i = input_ids.mutable_data(), *m = mask.mutable_data();
    py::gil_scoped_release release;
    gather_windows(w, pad_id, columns, i, m, workers);
  }
  return py::make_tuple(input_ids, mask);
}

py::tuple bind_pack_windows(const py::array& ids, const py::array& start, const py::array& end, const py::array& prefix,
                            const py::array& suffix, const Threads& threads) {
  const WindowTokens w = window_tokens(ids, start, end, prefix, suffix);
  const int workers = thread_count(threads);
  window_longest(w);
  py::array_t<int32_t> cu_seqlens(w.windows + 1);
  const int64_t total = window_offsets(w, cu_seqlens.mutable_data());
  py::array_t<int32_t> packed(total), position(total);
  {
    const int32_t* c = cu_seqlens.data();
    int32_t *i = packed.mutable_data(), *p = position.mutable_data();
    py::gil_scoped_release release;
    pack_windows(w, c, i, p, workers);
  }
  return py::make_tuple(packed, position, cu_seqlens);
}

}  // namespace

void bind_tokens(py::module_& m) {
  using py::arg;
  m.def("token_windows", &bind_token_windows, arg("doc_offsets"), arg("max_tokens"), arg("overlap") = 0,
        arg("tail") = "keep", arg("min_tokens") = 0, arg("threads") = py::none());
  m.def("gather_windows", &bind_gather_windows, arg("ids"), arg("start"), arg("end"), arg("prefix"), arg("suffix"),
        arg("pad_id") = 0, arg("length") = py::none(), arg("threads") = py::none());
  m.def("pack_windows", &bind_pack_windows, arg("ids"), arg("start"), arg("end"), arg("prefix"), arg("suffix"),
        arg("threads") = py::none());
}

}  // namespace rc
