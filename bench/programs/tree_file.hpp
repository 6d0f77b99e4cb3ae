// A tree as numbers in a text file: the arrays of `jounce_tree` up to gravity, in its order.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

struct TreeFile {
  int n, n_bodies, nv;
  std::vector<int> parent, kind, body_node;
  std::vector<double> placement, alignment, pitch, parameters, armature, gravity;

  explicit TreeFile(const std::string& path) {
    std::ifstream file(path);
    file >> n >> n_bodies >> nv;
    if (!file) throw std::runtime_error("no tree in " + path);
    const auto read = [&](auto& numbers, int count) {
      numbers.resize(count);
      for (auto& x : numbers) file >> x;
    };
    read(parent, n);
    read(kind, n);
    read(body_node, n_bodies);
    read(placement, 16 * n);
    read(alignment, 16 * n);
    read(pitch, n);
    read(parameters, 10 * n);
    read(armature, nv);
    read(gravity, 3);
    if (!file) throw std::runtime_error(path + " ends too early");
  }
};
