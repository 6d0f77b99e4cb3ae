// Pinocchio's algorithms from its own headers: times, and results to compare.
//
// Arguments: a model as numbers, a file of states, a file for the results, seconds for each function,
// functions. Prints a line for each: its name and the seconds of the fastest call.
#include <pinocchio/multibody.hpp>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <functional>
#include <map>
#include <stdexcept>

#include "measure.hpp"

namespace {

using namespace pinocchio;

JointModel joint_of(const std::string& name, const Eigen::Vector3d& axis) {
  const std::map<std::string, JointModel> plain{
      {"JointModelRX", JointModelRX()},       {"JointModelRY", JointModelRY()},
      {"JointModelRZ", JointModelRZ()},       {"JointModelPX", JointModelPX()},
      {"JointModelPY", JointModelPY()},       {"JointModelPZ", JointModelPZ()},
      {"JointModelRUBX", JointModelRUBX()},   {"JointModelRUBY", JointModelRUBY()},
      {"JointModelRUBZ", JointModelRUBZ()},   {"JointModelSpherical", JointModelSpherical()},
      {"JointModelFreeFlyer", JointModelFreeFlyer()}};
  if (name == "JointModelRevoluteUnaligned") return JointModelRevoluteUnaligned(axis);
  if (name == "JointModelPrismaticUnaligned") return JointModelPrismaticUnaligned(axis);
  const auto found = plain.find(name);
  if (found == plain.end()) throw std::runtime_error("no joint " + name);
  return found->second;
}

template <class V>
void read(std::istream& file, V& numbers) {
  for (Eigen::Index k = 0; k < numbers.size(); ++k) file >> numbers(k);
}

// Gravity, the number of joints; for each its parent, its type, rotation by rows and position in the
// parent's frame, axis, ten inertial parameters of what it carries.
Model read_model(const std::string& path) {
  std::ifstream file(path);
  Model model;
  Eigen::Vector3d gravity;
  read(file, gravity);
  model.gravity.linear() = gravity;
  int count;
  file >> count;
  for (int i = 0; i < count; ++i) {
    JointIndex parent;
    std::string type;
    Eigen::Matrix<double, 9, 1> rotation;
    Eigen::Vector3d position, axis;
    Eigen::Matrix<double, 10, 1> parameters;
    file >> parent >> type;
    read(file, rotation);
    read(file, position);
    read(file, axis);
    read(file, parameters);
    const Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> R(rotation.data());
    const JointIndex joint = model.addJoint(parent, joint_of(type, axis), SE3(R, position),
                                            "joint " + std::to_string(i));
    model.appendBodyToJoint(joint, Inertia::FromDynamicParameters(parameters), SE3::Identity());
  }
  if (!file) throw std::runtime_error("model file ends too early");
  return model;
}

template <class M>
void write(std::ofstream& file, const M& matrix) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      const double x = matrix(i, j);
      file.write((const char*)&x, sizeof x);
    }
  }
}

// First index slowest, as in our tensors.
void write_tensor(std::ofstream& file, const Data::Tensor3x& tensor) {
  const Eigen::Index n = tensor.dimension(0);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      for (Eigen::Index k = 0; k < n; ++k) file.write((const char*)&tensor(i, j, k), sizeof(double));
    }
  }
}

struct State {
  Eigen::VectorXd q, v, a, tau;
};

std::vector<State> states_of(const std::string& path, const Model& model) {
  std::vector<State> states;
  for (const auto& numbers : read_states(path, model.nq, model.nv)) {
    const double* x = numbers.data();
    const auto next = [&](int n) { return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>((x += n) - n, n)); };
    State state;
    state.q = next(model.nq);
    state.v = next(model.nv);
    state.a = next(model.nv);
    state.tau = next(model.nv);
    states.push_back(state);
  }
  return states;
}

// By name: how to call it, and what of `data` it returns.
std::map<std::string, std::function<void(Bench&, const std::string&)>> functions_of(
    const Model& model, Data& data, const std::vector<State>& s) {
  using File = std::ofstream&;
  const auto forward = [&](Convention convention) {
    return [&, convention](Bench& bench, const std::string& name) {
      bench.run(name, [&](int k) { aba(model, data, s[k].q, s[k].v, s[k].tau, convention); },
                [&](File file) { write(file, data.ddq); });
    };
  };
  const auto mass = [&](Convention convention) {
    return [&, convention](Bench& bench, const std::string& name) {
      bench.run(name, [&](int k) { crba(model, data, s[k].q, convention); },
                [&](File file) { write(file, data.M); });
    };
  };
  return {
      {"rnea", [&](Bench& bench, const std::string& name) {
         bench.run(name, [&](int k) { rnea(model, data, s[k].q, s[k].v, s[k].a); },
                   [&](File file) { write(file, data.tau); });
       }},
      {"aba", forward(Convention::LOCAL)},
      {"aba, world", forward(Convention::WORLD)},
      {"crba", mass(Convention::LOCAL)},
      {"crba, world", mass(Convention::WORLD)},
      {"computeMinverse", [&](Bench& bench, const std::string& name) {
         bench.run(name, [&](int k) { computeMinverse(model, data, s[k].q); },
                   [&](File file) { write(file, data.Minv); });
       }},
      {"computeRNEADerivatives", [&](Bench& bench, const std::string& name) {
         bench.run(name, [&](int k) { computeRNEADerivatives(model, data, s[k].q, s[k].v, s[k].a); },
                   [&](File file) {
                     for (const auto& x : {data.dtau_dq, data.dtau_dv}) write(file, x);
                     write(file, data.M);
                   });
       }},
      {"computeABADerivatives", [&](Bench& bench, const std::string& name) {
         bench.run(name, [&](int k) { computeABADerivatives(model, data, s[k].q, s[k].v, s[k].tau); },
                   [&](File file) {
                     for (const auto& x : {data.ddq_dq, data.ddq_dv}) write(file, x);
                     write(file, data.Minv);
                   });
       }},
      {"ComputeRNEASecondOrderDerivatives", [&](Bench& bench, const std::string& name) {
         bench.run(name,
                   [&](int k) { ComputeRNEASecondOrderDerivatives(model, data, s[k].q, s[k].v, s[k].a); },
                   [&](File file) {
                     write_tensor(file, data.d2tau_dqdq);
                     write_tensor(file, data.d2tau_dqdv);
                     write_tensor(file, data.d2tau_dvdv);
                     write_tensor(file, data.d2tau_dadq);
                   });
       }},
  };
}

}  // namespace

int main(int count, char** words) {
  const Arguments arguments(count, words);
  const Model model = read_model(arguments.model);
  Data data(model);
  const auto states = states_of(arguments.states, model);
  Bench bench(arguments.seconds, int(states.size()), arguments.results);
  const auto functions = functions_of(model, data, states);
  for (const auto& name : arguments.functions) functions.at(name)(bench, name);
}
