// Our kernels through the C entry point: times, and results to compare.
//
// Arguments: a model as numbers, a file of states, a file for the results, seconds for each function,
// kernels. A name that ends with "*64" runs the kernel on 64 states in one call and prints seconds per
// state. "peak" is no kernel: seconds per multiplication and addition, at the most that a core does.
#include <jounce/jounce.h>

#include <cstring>
#include <stdexcept>

#include "measure.hpp"
#include "tree_file.hpp"

namespace {

jounce_model* read_model(const std::string& path) {
  const TreeFile file(path);
  jounce_tree tree = {};
  tree.n = file.n;
  tree.n_bodies = file.n_bodies;
  tree.parent = file.parent.data();
  tree.kind = file.kind.data();
  tree.body_node = file.body_node.data();
  tree.placement = file.placement.data();
  tree.alignment = file.alignment.data();
  tree.pitch = file.pitch.data();
  tree.parameters = file.parameters.data();
  tree.armature = file.armature.data();
  tree.gravity = file.gravity.data();
  char message[200];
  jounce_model* model = jounce_model_new(&tree, message, sizeof message);
  if (!model) throw std::runtime_error(message);
  return model;
}

// A kernel with memory for its results. States lie one after the other as the file has them.
struct Prepared {
  const jounce_kernel* kernel;
  const jounce_model* model;
  jounce_call call = {};
  std::vector<std::vector<double>> results;
  std::vector<int> offsets;

  Prepared(const std::string& name, const jounce_model* of, int states)
      : kernel(jounce_find_kernel(name.c_str())), model(of) {
    if (!kernel) throw std::runtime_error("no kernel " + name);
    const int nq = jounce_model_nq(model), nv = jounce_model_nv(model), size = nq + 3 * nv;
    call.states = states;
    call.order = -1;
    offsets.assign(jounce_input_count(kernel), -1);
    for (int i = 0; i < jounce_input_count(kernel); ++i) {
      jounce_array array;
      if (!jounce_input(kernel, i, model, -1, &array)) throw std::runtime_error("no input");
      call.input_steps[i] = size;
      if (!std::strcmp(array.name, "q")) offsets[i] = 0;
      if (!std::strcmp(array.name, "v")) offsets[i] = nq;
      if (!std::strcmp(array.name, "a")) offsets[i] = nq + nv;
      if (!std::strcmp(array.name, "tau")) offsets[i] = nq + 2 * nv;
    }
    for (int i = 0; i < jounce_output_count(kernel); ++i) {
      jounce_array array;
      if (!jounce_output(kernel, i, model, -1, &array)) throw std::runtime_error("no output");
      results.emplace_back(array.size * states);
      call.outputs[i] = results.back().data();
      call.output_steps[i] = array.size;
    }
  }

  void run(const double* state) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      call.inputs[i] = offsets[i] < 0 ? nullptr : state + offsets[i];
    }
    if (jounce_run(kernel, model, &call, nullptr) != JOUNCE_DONE) throw std::runtime_error("call failed");
  }

  void write(std::ofstream& file) const {
    for (const auto& result : results) {
      const std::size_t one = result.size() / call.states;
      file.write((const char*)result.data(), one * sizeof(double));
    }
  }
};

// Twelve independent chains of fused multiply-adds on whole registers keep every unit busy.
#if defined(__AVX512F__)
constexpr int kWidth = 8;
#elif defined(__AVX__)
constexpr int kWidth = 4;
#else
constexpr int kWidth = 2;
#endif
typedef double Register __attribute__((vector_size(8 * kWidth)));
constexpr int kChains = 12, kLinks = 1000;

// Not inlined, and from numbers the compiler does not know: else it would do it once, or not at all.
__attribute__((noinline)) double chains(double first) {
  Register x[kChains];
  const Register scale = Register{} + 0.999 * first, step = Register{} + 0.001 * first;
  for (int c = 0; c < kChains; ++c) x[c] = Register{} + first;
  for (int k = 0; k < kLinks; ++k) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) x[c] = x[c] * scale + step;
  }
  Register sum = {};
  for (const auto& y : x) sum += y;
  return sum[0];
}

}  // namespace

int main(int count, char** words) {
  const Arguments arguments(count, words);
  jounce_model* model = read_model(arguments.model);
  const auto states = read_states(arguments.states, jounce_model_nq(model), jounce_model_nv(model));
  std::vector<double> all;
  for (const auto& state : states) all.insert(all.end(), state.begin(), state.end());
  const std::size_t size = states.at(0).size();
  Bench bench(arguments.seconds, int(states.size()), arguments.results);
  for (const auto& name : arguments.functions) {
    if (name == "peak") {
      volatile double number = 1.0;
      Bench(arguments.seconds, 1).run(
          name, [&](int) { number = number + 0.0 * chains(number); }, [](std::ofstream&) {},
          2.0 * kChains * kLinks * kWidth);
      continue;
    }
    const auto star = name.find("*64");
    const bool batch = star != std::string::npos;
    if (batch && states.size() != 64) throw std::runtime_error("a batch takes 64 states");
    Prepared prepared(name.substr(0, star), model, batch ? 64 : 1);
    const auto write = [&](std::ofstream& file) { prepared.write(file); };
    if (batch) {
      Bench(arguments.seconds, 1).run(name, [&](int) { prepared.run(all.data()); }, [](std::ofstream&) {}, 64.0);
    } else {
      bench.run(name, [&](int k) { prepared.run(all.data() + k * size); }, write);
    }
  }
  jounce_model_free(model);
}
