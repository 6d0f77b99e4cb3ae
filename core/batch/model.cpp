#include "jounce/batch/model.hpp"

#include "jounce/batch/model_tangent.hpp"
#include "jounce/tree/branched_tree.hpp"

namespace jounce {
namespace {

std::vector<FrameAt<>> make_frames(const Tree<double>& tree, const std::vector<int>& body, const double* pose) {
  std::vector<FrameAt<>> frames;
  frames.reserve(tree.n_bodies + body.size());
  const auto add = [&](int b, const Pose<double>& own) {
    if (b < -1 || b >= tree.n_bodies) throw std::invalid_argument("a frame has no body");
    const int node = b < 0 ? -1 : tree.body_node[b];
    frames.push_back({node, b < 0 ? own : inverse(tree.nodes[node].alignment) * own});
  };
  for (int b = 0; b < tree.n_bodies; ++b) {
    add(b, {Mat3<double>::identity(), Vec3<double>::zero()});
  }
  for (std::size_t k = 0; k < body.size(); ++k) add(body[k], pose_from(pose + 16 * k));
  return frames;
}

}  // namespace

int pack_width() { return lanes<Wide>; }

Model::Model(const TreeData& data, int kernels, std::vector<std::string> names, const std::vector<int>& frame_body,
             const double* frame_pose)
    : tree(with_still_model(with_branches(make_tree(data)))),
      joints(std::move(names)),
      frames(make_frames(tree, frame_body, frame_pose)),
      sizes_(new std::atomic<std::uint64_t>[2 * std::size_t(kernels)]()) {}

int Model::branched_nodes() const { return tree.branched ? tree.branched->tree.n : 0; }

}  // namespace jounce
