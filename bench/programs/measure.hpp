// What both programs of the native benchmark share: states from a file, results to a file, the fastest
// of many blocks of calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

struct Arguments {
  std::string model, states, results;
  double seconds;  // for each function
  std::vector<std::string> functions;

  Arguments(int count, char** words)
      : model(words[1]), states(words[2]), results(words[3]), seconds(std::atof(words[4])) {
    functions.assign(words + 5, words + count);
  }
};

// q, v, a, tau of each state, one after the other.
inline std::vector<std::vector<double>> read_states(const std::string& path, int nq, int nv) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::vector<double>> states;
  std::vector<double> state(nq + 3 * nv);
  while (file.read((char*)state.data(), state.size() * sizeof(double))) states.push_back(state);
  return states;
}

constexpr int kChecked = 4;  // states whose results are written

class Bench {
 public:
  Bench(double seconds, int states, const std::string& results = "/dev/null")
      : seconds_(seconds), states_(states), results_(results, std::ios::binary) {}

  // Time `call(k)` for state k; `write(file)` appends the results of the last call. A call does `parts`
  // of what is asked for.
  template <class Call, class Write>
  void run(const std::string& name, Call call, Write write, double parts = 1.0) {
    for (int k = 0; k < std::min(kChecked, states_); ++k) {
      call(k);
      write(results_);
    }
    std::printf("%s %.6g\n", name.c_str(), fastest(call) / parts);
    std::fflush(stdout);
  }

 private:
  // Seconds per call in the fastest block: once through the states, for 50 us at least.
  template <class Call>
  double fastest(Call call) const {
    const auto block = [&](int repeats) {
      const double before = now();
      for (int r = 0; r < repeats; ++r) {
        for (int k = 0; k < states_; ++k) call(k);
      }
      return (now() - before) / (double(repeats) * states_);
    };
    const double once = block(1);
    const int repeats = std::max(1, int(50e-6 / (once * states_)));
    double best = once;
    for (const double end = now() + seconds_; now() < end;) best = std::min(best, block(repeats));
    return best;
  }

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  double seconds_;
  int states_;
  std::ofstream results_;
};
