// The table of constraints as an input of kernels: the same for all states.
#pragma once

#include "jounce/batch/shape.hpp"
#include "jounce/constraints/dynamics.hpp"

namespace jounce {

constexpr Shape kTable{2, {shapes::records, {Dimension::number, kConstraintNumbers}}};
constexpr Shape kByRow{1, {shapes::rows}}, kRowSeries{2, {shapes::r_plus(1), shapes::rows}},
    kRowRates{2, {shapes::r_plus(2), shapes::rows}};

template <class X, class Name>
ConstraintTable table_of(const X& x, Name name) {
  return {x.call.in[name.at], x.call.records > 0 ? x.call.records : 0};
}

}  // namespace jounce
