// Runs every kernel on a batch, in packs and on threads, and state by state. Both must agree to rounding.
// Prints the name of each kernel and the largest relative difference. For any platform: it needs the
// library and the C entry point alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "jounce/jounce.h"

namespace {

constexpr int kStates = 83;
constexpr double kEuler[] = {1, 1, 0, 0, 1};  // the explicit method of one slope
std::mt19937 generator(11);
double uniform() { return std::uniform_real_distribution<double>(-1, 1)(generator); }

constexpr int kNodes = 6, kParent[] = {-1, 0, 1, 0, 3, 4}, kKind[] = {4, 0, 3, 1, 2, 0};
constexpr int kBodies[] = {0, 1, 2, 3, 4, 5}, kQ[] = {7, 1, 4, 1, 1, 1};

// Every elementary joint, in two branches.
jounce_model* make_robot() {
  std::vector<double> placement, alignment, pitch, parameters, armature(13, 0.1);
  for (int i = 0; i < kNodes; ++i) {
    const double s = 0.6, c = 0.8, x = uniform(), y = uniform(), z = uniform();
    placement.insert(placement.end(), {c, -s, 0, x, s, c, 0, y, 0, 0, 1, z, 0, 0, 0, 1});
    alignment.insert(alignment.end(), {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    pitch.push_back(kKind[i] == 2 ? 0.3 : 0.0);
    parameters.insert(parameters.end(), {1, 0.1, 0.2, -0.1, 1, 0.1, 1.2, 0, 0.1, 0.9});
  }
  const double gravity[] = {0.5, 0, -9.81};
  const jounce_tree tree = {kNodes,           kNodes,           kParent,      kKind,
                            kBodies,          placement.data(), alignment.data(), pitch.data(),
                            parameters.data(), armature.data(), gravity,      0,
                            nullptr,          nullptr};
  char message[200];
  jounce_model* model = jounce_model_new(&tree, message, sizeof message);
  if (!model) std::printf("no model: %s\n", message);
  return model;
}

void scale_quaternions(double* q) {
  for (int i = 0; i < kNodes; q += kQ[i++]) {
    if (kQ[i] < 4) continue;
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; ++k) q[k] /= norm;
  }
}

struct Arrays {
  std::vector<std::vector<double>> inputs, outputs;
  jounce_call call = {};
};

Arrays arguments(const jounce_kernel* kernel, const jounce_model* model, int order,
                 const unsigned char* mask) {
  Arrays a;
  a.call.states = kStates;
  a.call.order = order;
  a.call.prescribed = mask;
  a.call.frame = kNodes - 1;
  a.call.twist = 2;
  a.call.tableau = kEuler;
  a.call.tableau_size = std::size(kEuler);
  jounce_array array;
  for (int k = 0; k < jounce_input_count(kernel); ++k) {
    jounce_input(kernel, k, model, order, &array);
    std::vector<double>& x = a.inputs.emplace_back(array.size * kStates);
    for (double& entry : x) entry = uniform();
    if (array.rank == 1 && array.name[0] == 'q' && array.size == jounce_model_nq(model)) {
      for (int i = 0; i < kStates; ++i) scale_quaternions(x.data() + i * array.size);
    }
    if (!std::strcmp(array.name, "dt")) {
      for (double& entry : x) entry = std::abs(entry) + 0.01;
    }
    a.call.input_steps[k] = array.size;
    if (std::strstr(array.name, "tol")) {  // of a method: the same for all states
      x.assign(1, 1e-6);
      a.call.input_steps[k] = 0;
    }
  }
  for (int k = 0; k < jounce_output_count(kernel); ++k) {
    jounce_output(kernel, k, model, order, &array);
    a.outputs.emplace_back(array.size * kStates);
    a.call.output_steps[k] = array.size;
  }
  for (std::size_t k = 0; k < a.inputs.size(); ++k) a.call.inputs[k] = a.inputs[k].data();
  for (std::size_t k = 0; k < a.outputs.size(); ++k) a.call.outputs[k] = a.outputs[k].data();
  return a;
}

// The largest relative difference between a batch, on one thread and on several, and its states one by one;
// negative on a failure.
double difference(const jounce_kernel* kernel, const jounce_model* model, Arrays& a) {
  a.call.threads = 1;
  if (jounce_run(kernel, model, &a.call, nullptr) != JOUNCE_DONE) return -1.0;
  const std::vector<std::vector<double>> alone = a.outputs;
  for (std::vector<double>& output : a.outputs) std::fill(output.begin(), output.end(), NAN);
  a.call.threads = 3;
  if (jounce_run(kernel, model, &a.call, nullptr) != JOUNCE_DONE) return -1.0;
  double worst = 0.0;
  for (int i = 0; i < kStates; ++i) {
    jounce_call one = a.call;
    one.states = 1;
    std::vector<std::vector<double>> own;
    for (std::size_t k = 0; k < a.outputs.size(); ++k) own.emplace_back(a.call.output_steps[k]);
    for (std::size_t k = 0; k < own.size(); ++k) one.outputs[k] = own[k].data();
    for (std::size_t k = 0; k < a.inputs.size(); ++k) one.inputs[k] += i * a.call.input_steps[k];
    if (jounce_run(kernel, model, &one, nullptr) != JOUNCE_DONE) return -1.0;
    for (std::size_t k = 0; k < own.size(); ++k) {
      double scale = 1.0;
      for (double x : own[k]) scale = std::max(scale, std::abs(x));
      for (std::size_t j = 0; j < own[k].size(); ++j) {
        const std::size_t at = i * a.call.output_steps[k] + j;
        for (const double batch : {alone[k][at], a.outputs[k][at]}) {
          const double error = std::abs(batch - own[k][j]) / scale;
          worst = std::isnan(error) ? INFINITY : std::max(worst, error);
        }
      }
    }
  }
  return worst;
}

// Whether its numbers describe constraints: random ones are none.
bool has_table(const jounce_kernel* kernel, const jounce_model* model) {
  jounce_array array;
  for (int k = 0; k < jounce_input_count(kernel); ++k) {
    if (jounce_input(kernel, k, model, 0, &array) && !std::strcmp(array.name, "table")) return true;
  }
  return false;
}

bool is_series(const jounce_kernel* kernel, const jounce_model* model) {
  jounce_array array;
  for (int k = 0; k < jounce_input_count(kernel); ++k) {
    if (jounce_input(kernel, k, model, 0, &array) && array.is_series) return true;
  }
  return false;
}

}  // namespace

int main() {
  jounce_model* model = make_robot();
  if (!model) return 1;
  std::vector<unsigned char> mask(jounce_model_nv(model));
  for (std::size_t i = 0; i < mask.size(); i += 2) mask[i] = 1;
  bool good = true;
  for (int k = 0; k < jounce_kernel_count(); ++k) {
    const jounce_kernel* kernel = jounce_kernel_at(k);
    if (has_table(kernel, model)) continue;
    Arrays a = arguments(kernel, model, is_series(kernel, model) ? 3 : -1, mask.data());
    const double worst = difference(kernel, model, a);
    std::printf("%s %.1e\n", jounce_kernel_name(kernel), worst);
    good = good && worst >= 0.0 && worst < 1e-9;
  }
  jounce_model_free(model);
  return good ? 0 : 1;
}
