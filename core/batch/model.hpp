// A tree with what the calls on it share: frames, names for messages, sizes of workspaces.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jounce/batch/call.hpp"

namespace jounce {

// How many states a pack has, where the instruction set decides.
JOUNCE_EXPORT int pack_width();

// Immutable but for a cache, and safe to share between threads. Who uses it need not know how wide packs are.
class Model {
 public:
  const Tree<double> tree;
  const std::vector<std::string> joints;  // (n) name of the joint that a node belongs to, or empty
  const std::vector<FrameAt<>> frames;      // those of the bodies first

  // `kernels` is how many there are. The frames after those of the bodies are fixed to bodies (-1: to
  // the world), at 4x4 poses.
  JOUNCE_EXPORT Model(const TreeData& data, int kernels, std::vector<std::string> names = {},
                      const std::vector<int>& frame_body = {}, const double* frame_pose = nullptr);

  // How many nodes the tree has whose branches fill lanes; 0 if there is none.
  JOUNCE_EXPORT int branched_nodes() const;

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

  std::unique_ptr<std::atomic<std::uint64_t>[]> sizes_;
};

}  // namespace jounce
