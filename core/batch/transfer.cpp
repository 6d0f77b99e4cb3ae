#include "jounce/batch/transfer.hpp"

namespace jounce::batch {

template bool load(const double*, std::ptrdiff_t, int, std::ptrdiff_t, Wide*);
template void store(const Wide*, int, std::ptrdiff_t, double*, std::ptrdiff_t);
template void store_symmetric(const Wide*, int, const Tree<double>&, Given, double*, std::ptrdiff_t);

}  // namespace jounce::batch
