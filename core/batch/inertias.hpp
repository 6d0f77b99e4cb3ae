// Inertias of many bodies at once.
#pragma once

#include <cstddef>
#include <vector>

#include "jounce/spatial/possible.hpp"

namespace jounce {

// Which of n rows of ten parameters belong to bodies that may not exist.
inline std::vector<int> doubtful_inertias(const double* parameters, std::size_t n) {
  std::vector<int> found;
  for (std::size_t k = 0; k < n; ++k) {
    if (!surely_possible(inertia_from(parameters + 10 * k))) found.push_back(int(k));
  }
  return found;
}

}  // namespace jounce
