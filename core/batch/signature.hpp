// What a kernel takes and gives. A kernel declares it once; everything that calls kernels, from
// Python's arguments to the C entry point, reads it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "jounce/batch/shape.hpp"

namespace jounce {

// A few items whose number is that of what is listed. More than there is room for does not compile.
template <class T, int Most>
struct List {
  T items[Most] = {};
  int count = 0;

  constexpr List() = default;
  constexpr List(std::initializer_list<T> list) {
    for (const T& item : list) items[count++] = item;
  }
  constexpr void add(const T& item) { items[count++] = item; }
  constexpr const T& operator[](int k) const { return items[k]; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }

  // Position of the item of this name; there must be one.
  constexpr int position(std::string_view name) const {
    for (int k = 0; k < count; ++k) {
      if (name == items[k].name) return k;
    }
    throw "there is nothing of this name";  // when compiling: an error here
  }
};

// Entries of an input that a mask over the rates switches off are not read.
enum class Reads { all, prescribed, unprescribed };

// Of a configuration, quaternions are checked and scaled to unit length before a kernel sees them. As
// directions, they may have any length but zero. Numbers may have to be positive.
enum class Holds { numbers, configuration, directions, positive };
constexpr bool is_configuration(Holds holds) {
  return holds == Holds::configuration || holds == Holds::directions;
}

struct Input {
  const char* name = "";
  Shape shape = {};
  bool optional = false;
  Reads reads = Reads::all;
  Holds holds = Holds::numbers;
};
constexpr bool optional = true;

constexpr Input configuration(const char* name) {
  return {name, shapes::q, !optional, Reads::all, Holds::configuration};
}
constexpr Input positive(const char* name, Shape shape) {
  return {name, shape, !optional, Reads::all, Holds::positive};
}

// What has to be looked at to know that a result is finite: all of it; where the kernel promises that
// no entry is larger than the diagonal's, that alone; nothing, where NaN is a result.
enum class Finite { entries, diagonal, unchecked };

// What a kernel on packs fills of a matrix over the rates (see Arguments::fill): if it is symmetric, its upper
// triangle; if it is zero between unrelated rates as well, of that the entries of related ones.
enum class Given : unsigned char { all, upper, related };

struct Output {
  const char* name = "";
  Shape shape = {};
  Finite finite = Finite::entries;
  Holds holds = Holds::numbers;
  Given given = Given::all;
};
// A positive definite matrix over the rates: its diagonal bounds the rest.
constexpr Output symmetric(const char* name, Given given = Given::upper) {
  return {name, shapes::v_by_v, Finite::diagonal, Holds::numbers, given};
}
constexpr Output configuration_output(const char* name) {
  return {name, shapes::q, Finite::entries, Holds::configuration};
}

// Arguments that are the same for all states of a batch.
struct Option {
  enum Kind { mask, frame, representation, source, method, tableau, every, hold, pair, order, passive };
  const char* name = "";
  Kind kind = mask;
  bool optional = false;
};
namespace options {
constexpr Option prescribed{"prescribed", Option::mask};
constexpr Option frame{"body", Option::frame};
constexpr Option subtree{"body", Option::frame, optional};  // of the world, if not given
constexpr Option representation{"twist", Option::representation, optional};
constexpr Option source{"source", Option::source};
constexpr Option target{"target", Option::representation};
constexpr Option method{"method", Option::method};
constexpr Option tableau{"tableau", Option::tableau};  // of an explicit method
constexpr Option every{"every", Option::every};        // store each k-th state
constexpr Option hold{"hold", Option::hold};           // 0: constant in a step, 1: linear
constexpr Option pair{"pair", Option::pair};           // of an explicit method with its error
constexpr Option order{"order", Option::order};        // of a series
constexpr Option passive{"passive", Option::passive};  // 1: with forces of the joints themselves
constexpr Option some_prescribed{"prescribed", Option::mask, optional};
}  // namespace options

// What an input must be, beyond its shape: the kernel returns the number of a demand that is not met.
struct Demand {
  const char* input = "";
  const char* text = "";
};
namespace demands {
constexpr const char* orthonormal = "a rotation, orthonormal to 1e-6";
constexpr const char* no_reflection = "a rotation of determinant 1, no reflection";
constexpr const char* last_row = "a pose with the last row (0, 0, 0, 1)";
constexpr const char* nonzero = "a quaternion (x, y, z, w) that is not zero";
}  // namespace demands

// Whether a batch goes in packs of states. A kernel that works on many columns of one state at once
// takes packs only while their workspace fits the caches. `only`: one state is a pack too.
enum class Packs { always, while_small, never, only };

constexpr int kMostInputs = 16, kMostOutputs = 16, kMostOptions = 6, kMostDemands = 3;
constexpr int kMethods = 3;  // values of the option "method"

struct Signature {
  const char* name;
  List<Input, kMostInputs> inputs;
  List<Output, kMostOutputs> outputs;
  List<Option, kMostOptions> options = {};
  Packs packs = Packs::always;
  List<Demand, kMostDemands> demands = {};
  bool internal = false;  // has no public function in Python, and may change
  bool branches = false;  // one state may run in the branches of its robot, see batch/branches.hpp
};

// Whether what a signature says fits the shapes it says it of, and what else it says. Checked for every
// kernel when it is compiled.
constexpr bool is_consistent(const Signature& s) {
  bool good = true, masked = false;
  for (const Option& option : s.options) masked = masked || (option.kind == Option::mask && !option.optional);
  for (const Input& input : s.inputs) {
    const Shape& shape = input.shape;
    const bool is_q = shape.rank == 1 && shape.dims[0].of == Dimension::nq;
    if (is_configuration(input.holds)) good = good && is_q;
    // a configuration comes first, where the bindings look for the layout of another library
    if (input.holds == Holds::configuration) good = good && s.inputs[0].holds == Holds::configuration;
    // a mask over the rates repeats along the last axis
    if (input.reads != Reads::all) {
      good = good && masked && shape.rank > 0 && shape.dims[shape.rank - 1].of == Dimension::nv;
    }
  }
  if (s.branches) good = good && s.options.count == 0;  // those of a tree do not fit its branches
  for (const Output& output : s.outputs) {
    const int rank = output.shape.rank;
    if (s.branches) good = good && rank > 0 && output.shape.dims[rank - 1].of == Dimension::nv;
    if (output.finite != Finite::diagonal && output.given == Given::all) continue;
    const Dimension* dims = output.shape.dims;
    good = good && output.shape.rank == 2 && dims[0].of == Dimension::nv && dims[1].of == Dimension::nv;
  }
  return good;
}

}  // namespace jounce
