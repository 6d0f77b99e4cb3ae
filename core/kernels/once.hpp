// Recursions that several files of kernels call, compiled once: in once.cpp, not in each of them.
#pragma once

#include "jounce/dynamics/articulated.hpp"
#include "jounce/dynamics/inverse_dynamics.hpp"
#include "jounce/dynamics/inverse_mass_matrix.hpp"
#include "jounce/dynamics/mass_matrix.hpp"
#include "jounce/partials/forward_partials.hpp"
#include "jounce/partials/inverse_partials.hpp"

#ifndef JOUNCE_ONCE
#define JOUNCE_ONCE extern template
#endif

#define JOUNCE_ONCE_FOR(S)                                                                            \
  JOUNCE_ONCE void inverse_dynamics(const Tree<double>&, const S*, const S*, const S*, const S*, S*,  \
                                    InverseDynamicsWork<S>&);                                         \
  JOUNCE_ONCE int forward_dynamics(const Tree<double>&, const S*, const S*, const S*, const S*, S*,   \
                                   ArticulatedWork<S>&);                                              \
  JOUNCE_ONCE int hybrid_dynamics(const Tree<double>&, const unsigned char*, const S*, const S*,      \
                                  const S*, const S*, const S*, S*, S*, ArticulatedWork<S>&);         \
  JOUNCE_ONCE void mass_matrix<Fill::whole>(const Tree<double>&, const S*, S*, MassMatrixWork<S>&);   \
  JOUNCE_ONCE int inverse_mass_matrix<Fill::whole>(const Tree<double>&, const S*, S*,                 \
                                                   InverseMassMatrixWork<S>&);                        \
  JOUNCE_ONCE void inverse_dynamics_partials(const Tree<double>&, const S*, const S*, const S*,       \
                                             const S*, S*, S*, S*, PartialsWork<S>&);                 \
  JOUNCE_ONCE int forward_dynamics_partials(const Tree<double>&, PartialsMethod, const S*, const S*,  \
                                            const S*, const S*, S*, S*, S*, ForwardPartialsWork<S>&)

namespace jounce {

JOUNCE_ONCE_FOR(double);
JOUNCE_ONCE_FOR(Wide);

}  // namespace jounce
