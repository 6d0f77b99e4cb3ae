// The same pendulum through the templates, with a scalar of our own choice: dual numbers. Prints the
// torque and its derivative by q.
#include <jounce/jounce.h>  // must be C++, too

#include <jounce/dynamics/inverse_dynamics.hpp>
#include <jounce/scalar/dual.hpp>

#include <cstdio>
#include <vector>

int main() {
  using namespace jounce;
  const int parent[] = {-1}, kind[] = {0}, body_node[] = {0};
  const double identity[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  const double along_y[] = {1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1};
  const double pitch[] = {0}, armature[] = {0.25}, gravity[] = {0, 0, -9.81};
  const double parameters[] = {2, 0, 0, -1, 0.5, 0, 0.5, 0, 0, 0.01};
  const Tree<double> tree = make_tree(
      {1, 1, parent, kind, body_node, identity, along_y, pitch, parameters, armature, gravity});
  using S = Dual<double>;
  Arena layout;
  InverseDynamicsWork<S> sized(tree, layout);
  Workspace memory;
  Arena arena(memory.reserve(layout.used()));
  InverseDynamicsWork<S> work(tree, arena);
  const S q[] = {{0.3, 1.0}}, v[] = {0.1}, a[] = {1.5};
  S tau[1];
  inverse_dynamics(tree, q, v, a, (const S*)nullptr, tau, work);
  std::printf("%.17g %.17g\n", tau[0].x, tau[0].d);
}
