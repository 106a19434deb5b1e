// Checks that name the argument. std::invalid_argument becomes ValueError in Python.
#pragma once
#include <stdexcept>
#include <string>

namespace rc {

inline void check(bool holds, const char* argument, const std::string& must) {
  if (!holds) throw std::invalid_argument(std::string(argument) + " " + must);
}

}  // namespace rc
