// A tree with what the calls on it share: frames, names for messages, sizes of workspaces.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jounce/batch/call.hpp"
#include "jounce/batch/model_tangent.hpp"
#include "jounce/tree/branched_tree.hpp"

namespace jounce {

// Immutable but for a cache, and safe to share between threads.
class Model {
 public:
  const Tree<double> tree;
  const std::vector<std::string> joints;  // (n) name of the joint that a node belongs to, or empty
  const std::vector<FrameAt<>> frames;      // those of the bodies first

  // `kernels` is how many there are. The frames after those of the bodies are fixed to bodies (-1: to
  // the world), at 4x4 poses.
  Model(Tree<double> own, int kernels, std::vector<std::string> names = {},
        const std::vector<int>& frame_body = {}, const double* frame_pose = nullptr)
      : tree(with_still_model(with_branches(std::move(own)))),
        joints(std::move(names)),
        frames(make_frames(tree, frame_body, frame_pose)),
        sizes_(new std::atomic<std::uint64_t>[2 * std::size_t(kernels)]()) {}

  // Bytes that a kernel needs for one state or for a pack; remembered for the extent used last.
  std::size_t workspace(const Kernel& kernel, Extent extent, bool wide) const {
    std::atomic<std::uint64_t>& cached = sizes_[2 * kernel.slot + wide];
    const std::uint64_t known = cached.load(std::memory_order_relaxed);
    const std::uint64_t tag = std::uint64_t(extent.order + 2 + kOrders * extent.rows) << kTagAt;
    const bool has_tag = extent.rows < kMostTagged;
    if (has_tag && (known & kTag) == tag) return known & ~kTag;
    const std::size_t bytes = kernel.bytes(tree, extent, wide);
    if (has_tag && !(bytes & kTag)) cached.store(tag | bytes, std::memory_order_relaxed);
    return bytes;
  }

 private:
  // The upper half of what is remembered says for which order and rows, if there are not too many.
  static constexpr int kTagAt = 40, kOrders = 128, kMostTagged = (1 << 24) / kOrders;
  static constexpr std::uint64_t kTag = std::uint64_t(0xffffff) << kTagAt;

  static std::vector<FrameAt<>> make_frames(const Tree<double>& tree, const std::vector<int>& body,
                                          const double* pose) {
    std::vector<FrameAt<>> frames;
    frames.reserve(tree.n_bodies + body.size());
    const auto add = [&](int b, const Pose<double>& own) {
      const int node = b < 0 ? -1 : tree.body_node[b];
      frames.push_back({node, b < 0 ? own : inverse(tree.nodes[node].alignment) * own});
    };
    for (int b = 0; b < tree.n_bodies; ++b) {
      add(b, {Mat3<double>::identity(), Vec3<double>::zero()});
    }
    for (std::size_t k = 0; k < body.size(); ++k) add(body[k], pose_from(pose + 16 * k));
    return frames;
  }

  std::unique_ptr<std::atomic<std::uint64_t>[]> sizes_;
};

}  // namespace jounce
