#include "jounce/batch/model_tangent.hpp"

namespace jounce {

template struct ModelTangent<Wide>;
template Options<Dual<Wide>> seeded(const Options<>&, const Tree<double>&, const Wide*);

}  // namespace jounce
