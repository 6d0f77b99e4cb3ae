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
    const double* a = parameters + 10 * k;
    if (!surely_possible({a[0], {a[1], a[2], a[3]}, {a[4], a[5], a[6], a[7], a[8], a[9]}})) {
      found.push_back(int(k));
    }
  }
  return found;
}

}  // namespace jounce
