// The groups SO(3) and SE(3) and their algebras, elementwise.
#include "jounce/batch/states.hpp"
#include "jounce/kernels/elementwise.hpp"
#include "jounce/lie/group.hpp"
#include "jounce/lie/matrix.hpp"
#include "jounce/spatial/spatial.hpp"

namespace jounce {
namespace {

// Shapes of SO(3) or SE(3): vectors of the algebra, elements of the group, linear maps of the algebra.
template <bool kPose>
constexpr Shape algebra = kPose ? shapes::six_vector : shapes::vector;
template <bool kPose>
constexpr Shape group = kPose ? shapes::pose : shapes::rotation;
template <bool kPose>
constexpr Shape linear_map = kPose ? shapes::six_by_six : shapes::rotation;

// A twist, whose linear part is zero on SO(3).
template <bool kPose, class S>
JOUNCE_INLINE Motion<S> twist_from(const S* x) {
  if constexpr (kPose) return motion_from(x);
  return {vector_from(x), Vec3<S>::zero()};
}

// Maps that treat both halves of a twist alike; on SO(3) the first one alone.
template <bool kPose, class S>
JOUNCE_INLINE void store_map(const Blocks<S>& map, S* to) {
  if constexpr (kPose) return store(map, to);
  store(map.D, to, 3);
}

template <bool kPose>
struct Hat : Elementwise {
  static constexpr Signature signature{
      .name = "hat", .inputs = {{"x", algebra<kPose>}}, .outputs = {{"X", group<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Motion<S> own = twist_from<kPose>(x.in("x"));
    if constexpr (kPose) {
      store(Pose<S>{hat(own.w), own.v}, x.out("X"));
      x.out("X")[15] = S(0.0);
    } else {
      store(hat(own.w), x.out("X"), 3);
    }
  }
};

// Reads the skew part, so that a matrix which is skew only to rounding loses nothing.
template <bool kPose>
struct Vee : Elementwise {
  static constexpr Signature signature{
      .name = "vee", .inputs = {{"X", group<kPose>}}, .outputs = {{"x", algebra<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Mat3<S> R = matrix_from(x.in("X"), kPose ? 4 : 3);
    const Vec3<S> w{R.y.z - R.z.y, R.z.x - R.x.z, R.x.y - R.y.x};
    store(w * 0.5, x.out("x"));
    if constexpr (kPose) store(pose_from(x.in("X")).p, x.out("x") + 3);
  }
};

template <bool kPose>
struct SmallAd : Elementwise {
  static constexpr Signature signature{
      .name = "ad", .inputs = {{"x", algebra<kPose>}}, .outputs = {{"ad", linear_map<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Motion<S> own = twist_from<kPose>(x.in("x"));
    store_map<kPose>(Blocks<S>{hat(own.w), hat(own.v)}, x.out("ad"));
  }
};

template <bool kPose>
struct Exp : Elementwise {
  static constexpr Signature signature{
      .name = "exp", .inputs = {{"x", algebra<kPose>}}, .outputs = {{"T", group<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Motion<S> own = twist_from<kPose>(x.in("x"));
    if constexpr (kPose) {
      store(pose_exp(own.w, own.v), x.out("T"));
    } else {
      store(rotation_exp(own.w, Stumpff<S>(dot(own.w, own.w))), x.out("T"), 3);
    }
  }
};

template <bool kPose>
struct Log : Elementwise {
  static constexpr Signature signature{.name = "log",
                                       .inputs = {{"T", group<kPose>}},
                                       .outputs = {{"x", algebra<kPose>}},
                                       .demands = {{"T", demands::orthonormal},
                                                   {"T", demands::no_reflection},
                                                   {"T", demands::last_row}}};
  template <class S>
  static int run(const auto& x, NoWork<S>&) {
    const S* T = x.in("T");
    const Mat3<S> R = matrix_from(T, kPose ? 4 : 3);
    if (const int defect = rotation_defect(R); defect >= 0) return defect;
    const Vec3<S> w = rotation_log(R);
    store(w, x.out("x"));
    if constexpr (kPose) {
      if (!has_last_row(T)) return 2;
      store(inverse_translation(w, pose_from(T).p), x.out("x") + 3);
    }
    return -1;
  }
};

template <bool kPose>
struct Inverse : Elementwise {
  static constexpr Signature signature{
      .name = "inverse", .inputs = {{"T", group<kPose>}}, .outputs = {{"inverse", group<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    if constexpr (kPose) {
      store(inverse(pose_from(x.in("T"))), x.out("inverse"));
    } else {
      store(transpose(matrix_from(x.in("T"), 3)), x.out("inverse"), 3);
    }
  }
};

template <bool kPose>
struct LargeAd : Elementwise {
  static constexpr Signature signature{
      .name = "Ad", .inputs = {{"T", group<kPose>}}, .outputs = {{"Ad", linear_map<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Mat3<S> R = matrix_from(x.in("T"), kPose ? 4 : 3);
    if constexpr (kPose) {
      store(Blocks<S>{R, hat(pose_from(x.in("T")).p) * R}, x.out("Ad"));
    } else {
      store(R, x.out("Ad"), 3);
    }
  }
};

template <bool kPose, bool kInverse>
struct Dexp : Elementwise {
  static constexpr Signature signature{.name = kInverse ? "dexp_inv" : "dexp",
                                       .inputs = {{"x", algebra<kPose>}},
                                       .outputs = {{"dexp", linear_map<kPose>}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const Motion<S> own = twist_from<kPose>(x.in("x"));
    const Blocks<S> map = kInverse ? inverse_right_dexp(own.w, own.v) : right_dexp(own.w, own.v);
    store_map<kPose>(map, x.out("dexp"));
  }
};

// Rz(yaw) Ry(pitch) Rx(roll).
struct RpyToMatrix : Elementwise {
  static constexpr Signature signature{.name = "rpy_to_matrix",
                                       .inputs = {{"rpy", shapes::vector}},
                                       .outputs = {{"R", shapes::rotation}}};
  template <class S>
  static void run(const auto& x, NoWork<S>&) {
    const S o(0.0), one(1.0);
    S s[3], c[3];
    for (int k = 0; k < 3; ++k) sincos(x.in("rpy")[k], s[k], c[k]);
    const Mat3<S> roll{{one, o, o}, {o, c[0], s[0]}, {o, -s[0], c[0]}};
    const Mat3<S> pitch{{c[1], o, -s[1]}, {o, one, o}, {s[1], o, c[1]}};
    const Mat3<S> yaw{{c[2], s[2], o}, {-s[2], c[2], o}, {o, o, one}};
    store(yaw * (pitch * roll), x.out("R"), 3);
  }
};

}  // namespace

KernelList group_functions() {
  return {kernel_of<Hat<false>>,         kernel_of<Hat<true>>,
          kernel_of<Vee<false>>,         kernel_of<Vee<true>>,
          kernel_of<SmallAd<false>>,     kernel_of<SmallAd<true>>,
          kernel_of<Exp<false>>,         kernel_of<Exp<true>>,
          kernel_of<Log<false>>,         kernel_of<Log<true>>,
          kernel_of<Inverse<false>>,     kernel_of<Inverse<true>>,
          kernel_of<LargeAd<false>>,     kernel_of<LargeAd<true>>,
          kernel_of<Dexp<false, false>>, kernel_of<Dexp<true, false>>,
          kernel_of<Dexp<false, true>>,  kernel_of<Dexp<true, true>>,
          kernel_of<RpyToMatrix>};
}

}  // namespace jounce
