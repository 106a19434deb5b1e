// Levels of boundaries as Python gives them.
#pragma once
#include <string>
#include <vector>

#include "bindings/array_args.h"
#include "chunks/pack.h"
#include "core/check.h"

namespace rc {

// A level as Python gives it: "words", a list of literal separators, separators found beforehand as (spans [n, 2],
// offsets [D + 1]), or spans that begin at boundaries as ("starts", spans, offsets).
struct LevelArgument {
  Level::Kind kind;
  std::vector<std::string> literals;
  const Span* spans = nullptr;
  View<int64_t> offsets;
  py::object kept;

  Level of_document(int64_t document) const {
    Level level;
    level.kind = kind;
    level.literals = &literals;
    if (level.is_found()) {
      level.first = spans + offsets[document];
      level.last = spans + offsets[document + 1];
    }
    return level;
  }
};

inline LevelArgument level_argument(const py::handle& item, int64_t documents) {
  LevelArgument level;
  if (py::isinstance<py::str>(item)) {
    check(item.cast<std::string>() == "words", "levels",
          "must be \"words\", a list of separators, or (spans, offsets)");
    level.kind = Level::Kind::words;
  } else if (py::isinstance<py::tuple>(item)) {
    level.kept = py::reinterpret_borrow<py::object>(item);
    const auto given = item.cast<py::tuple>();
    const bool starts = given.size() == 3 && py::isinstance<py::str>(given[0]);
    check(starts || given.size() == 2, "levels", "must hold (spans, offsets) or (\"starts\", spans, offsets)");
    level.kind = starts ? Level::Kind::starts : Level::Kind::positions;
    const auto spans = view<int64_t>(given[starts].cast<py::array>(), "spans", 2);
    check(spans.columns == 2, "spans", "must have two columns");
    level.spans = reinterpret_cast<const Span*>(spans.data);
    level.offsets = view<int64_t>(given[1 + starts].cast<py::array>(), "offsets");
    check(level.offsets.size() == documents + 1 && level.offsets[documents] == spans.rows, "offsets",
          "must fit the spans and the documents");
  } else {
    level.kind = Level::Kind::literals;
    for (const auto& literal : item) level.literals.push_back(literal.cast<std::string>());
    for (const auto& literal : level.literals) check(!literal.empty(), "separators", "must not be empty");
  }
  return level;
}

}  // namespace rc
