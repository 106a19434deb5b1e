// Checks that name the argument. std::invalid_argument becomes ValueError in Python.
#pragma once
#include <stdexcept>
#include <string>

namespace rc {

inline void check(bool holds, const char* argument, const std::string& must) {
  if (!holds) throw std::invalid_argument(std::string(argument) + " " + must);
}

// No string is made of a literal unless the check fails: some run for every sentence, where that was half of the time.
inline void check(bool holds, const char* argument, const char* must) {
  if (!holds) check(holds, argument, std::string(must));
}

}  // namespace rc
