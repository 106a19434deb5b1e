// The measure of a call from Python: the name of a unit, or token indexes.
#pragma once
#include <memory>
#include <string>

#include "bindings/text_args.h"
#include "chunks/measure.h"
#include "core/check.h"

namespace rc {

// "chars", "bytes", or token indexes.
class MeasureArgument {
 public:
  MeasureArgument(const Texts& texts, const py::object& measure) : texts_(texts) {
    if (py::isinstance<py::str>(measure)) {
      const auto name = measure.cast<std::string>();
      check(name == "chars" || name == "bytes", "measure", "must be \"chars\", \"bytes\" or token indexes");
      characters_ = name == "chars";
    } else {
      indexes_ = measure.cast<const TokenIndexes*>();
      check(static_cast<int64_t>(indexes_->documents.size()) == texts.size(), "measure",
            "must have an index for each text");
    }
  }

  // Whether a token is a code point.
  bool characters() const { return characters_; }

  // A counter written in Python takes the GIL, so that more threads would only wait.
  bool one_thread() const { return indexes_ && indexes_->python_counter; }

  // `text` is document d, wherever its bytes are.
  std::unique_ptr<Measure> of_document(int64_t d, std::string_view text) const {
    if (indexes_) return std::make_unique<TokenMeasure>(text, indexes_->documents[d], indexes_->counter);
    if (characters_ && !texts_.ascii(d)) return std::make_unique<CharMeasure>(text);
    return std::make_unique<ByteMeasure>(text);
  }
  std::unique_ptr<Measure> of_document(int64_t d) const { return of_document(d, texts_[d]); }

 private:
  const Texts& texts_;
  const TokenIndexes* indexes_ = nullptr;
  bool characters_ = false;
};

}  // namespace rc
