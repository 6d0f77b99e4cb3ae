// Derivatives of the mass matrix with respect to q, Christoffel symbols, and the derivatives of the
// inverse, along the axes of the root, each node about its own origin (base_frame.hpp).
//
// When rate k moves, everything outward of its joint moves with the screw s_k (mueller, eq. 12). M_ac =
// s_a^T F_c with F_c = I_c s_c, the composite inertia I_c and a inward of c or its equal; so it changes
// only with rates that are outward of a. For three rates a, b, c of nodes on one path outward,
//   (1) P = dM_ac/dq_b = s_a^T (s_b x* F_c) = F_c^T (s_a x s_b)           node a inward of b,
//   (2) Q = dM_ab/dq_c = s_a^T D_c s_b,  D_c = s_c x* I_c - I_c s_c x     node b inward of c,
// where D_c is the rate of I_c: with F_c = (., p), the rate Y_c of its rotational part and (w, v) = s,
//   (3) Q = w_a^T Y_c w_b + p^T (v_a x w_b + v_b x w_a).
// All other derivatives are zero.
//
// Christoffel symbols, C_ij = Gamma_ijk v_k, follow from P, Q and, within a spherical or free joint,
// where rates do not commute, from the mass matrix M~ without armature: with <x, y; z> = M~([x, y], z),
//   (4) 2 Gamma_ijk = dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i + <k, j; i> - <k, i; j> - <j, i; k>.
#pragma once

#include <algorithm>

#include "jounce/dynamics/mass_matrix.hpp"
#include "jounce/partials/forward_partials.hpp"
#include "jounce/scalar/pause.hpp"

namespace jounce {

template <class S>
struct MassPartialsWork {
  // What rate a does about the origin of the node of b: angular velocity, s_a x s_b, and the vector of
  // equation (3).
  struct Pair {
    int a;
    Vec3<S> w, z;
    Motion<S> u;
  };
  MassMatrixWork<S> mass;  // F_c, and the points that they refer to
  S* M;
  Motion<S>* screw;        // of each rate about its node's origin
  SixRows<S> Y;            // of each rate: xx, yy, zz, then yz, xz, xy
  Pair* pairs;

  template <class P>
  MassPartialsWork(const Tree<P>& tree, Arena& arena)
      : mass(tree, arena),
        M(arena.take<S>(std::size_t(tree.nv) * tree.nv)),
        screw(arena.take<Motion<S>>(tree.nv)),
        Y(arena.take<S>(6 * std::size_t(tree.nv)), tree.nv),
        pairs(arena.take<Pair>(tree.nv)) {}
};

namespace partials {

template <class S, class C>
JOUNCE_INLINE Sym3<typename C::Value> symmetric(const SixRows<S>& rows, const C& c) {
  const auto d = rows.angular(c), o = rows.linear(c);
  return {d.x, o.z, d.y, o.y, o.x, d.z};
}

// An (nv, nv, nv) array, and columns c that go to its entries first + c * step.
template <class S>
struct Cube {
  S* entries;
  std::size_t nv;

  JOUNCE_INLINE S* row(int i, int j) const { return entries + (i * nv + j) * nv; }
  template <class C>
  static JOUNCE_INLINE void scatter(const C& c, const typename C::Value& x, S* first, std::size_t step) {
    constexpr int width = sizeof(x) / sizeof(S);
    for (int i = 0; i < width; ++i) {
      if constexpr (width == 1) {
        first[c.at * step] = x;
      } else {
        first[(c.at + i) * step] = lane(x, i);
      }
    }
  }
};

template <class S>
JOUNCE_INLINE void clear(const Cube<S>& cube) {
  constexpr std::size_t most = kBetweenPauses;
  const std::size_t size = cube.nv * cube.nv * cube.nv;
  for (std::size_t at = 0; at < size; at += most) {
    std::fill_n(cube.entries + at, std::min(most, size - at), S(0.0));
    pause();
  }
}

// Where P and Q of equations (1) and (2) go in the derivatives of M ...
template <class S>
struct DerivativeSink : Cube<S> {
  template <class C, class V>
  JOUNCE_INLINE void put_P(int a, int b, const C& c, const V& P) const {
    this->scatter(c, P, this->row(a, 0) + b, this->nv);                 // [a, c, b]
    this->scatter(c, P, this->row(0, a) + b, this->nv * this->nv);      // [c, a, b]
  }
  template <class C, class V>
  JOUNCE_INLINE void put_Q(int a, int b, const C& c, const V& Q) const {
    c.store(this->row(a, b), Q);
    c.store(this->row(b, a), Q);
  }
  template <class C, class V>
  JOUNCE_INLINE void put(int a, int b, const C& c, const V& P, const V& Q) const {
    put_P(a, b, c, P);
    put_Q(a, b, c, Q);
  }
};

// ... and, by equation (4), in the symbols.
template <class S>
struct ChristoffelSink : Cube<S> {
  template <class C, class V>
  JOUNCE_INLINE void put(int a, int b, const C& c, const V& P, const V& Q) const {
    const std::size_t nv = this->nv;
    const V sum = (Q + P) * 0.5, difference = (Q - P) * 0.5;
    c.store(this->row(a, b), sum);
    c.store(this->row(b, a), difference);
    this->scatter(c, sum, this->row(a, 0) + b, nv);               // [a, c, b]
    this->scatter(c, difference, this->row(b, 0) + a, nv);        // [b, c, a]
    this->scatter(c, -difference, this->row(0, a) + b, nv * nv);  // [c, a, b]
    this->scatter(c, -difference, this->row(0, b) + a, nv * nv);  // [c, b, a]
  }
  // Of rates b and c of one node, whose entries the pair (c, b) shares.
  template <class C>
  JOUNCE_INLINE void put_P(int a, int b, const C& c, const S& P) const {
    const int k = c.at;
    const S half = P * 0.5;
    this->row(a, b)[k] += half;
    this->row(a, k)[b] += half;
    this->row(b, a)[k] -= half;
    this->row(b, k)[a] -= half;
    this->row(k, a)[b] += half;
    this->row(k, b)[a] += half;
  }
  template <class C, class V>
  JOUNCE_INLINE void put_Q(int a, int b, const C& c, const V& Q) const {
    put(a, b, c, V(0.0), Q);
  }
};

// Screws of all rates, and Y of the composite inertias that the mass matrix left.
template <class S, class P>
JOUNCE_INLINE void composite_rates(const Tree<P>& tree, MassPartialsWork<S>& work) {
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    with_kind(node.kind, [&](auto kind) {
      constexpr Kind K = decltype(kind)::value;
      for (int k = 0; k < rates(K); ++k) {
        const Columns<S, S> c{node.v + k};
        const Motion<S> s = base_frame_screw<K>(node, k, work.mass.base.in_root[i].R);
        const Sym3<S> Y = rotational_rate(work.mass.base.inertia[i], s);
        work.screw[c.at] = s;
        work.Y.set_angular(c, {Y.xx, Y.yy, Y.zz});
        work.Y.set_linear(c, {Y.yz, Y.xz, Y.xy});
      }
    });
  }
}

// The pairs of rate b with those of nodes inward of its own, then with those of its own up to b.
// Returns how many there are of the first kind and in all.
struct Count {
  int inward, all;
};
template <class S, class P>
JOUNCE_INLINE Count make_pairs(const Tree<P>& tree, int node_of_b, int b, MassPartialsWork<S>& work) {
  const Motion<S>& sb = work.screw[b];
  const Vec3<S>& at = work.mass.base.in_root[node_of_b].p;
  int count = 0;
  const auto add = [&](int a, const Motion<S>& sa) {
    work.pairs[count++] = {a, sa.w, cross(sa.v, sb.w) + cross(sb.v, sa.w), bracket(sa, sb)};
  };
  for (int i = tree.nodes[node_of_b].parent; i >= 0; i = tree.nodes[i].parent) {
    const Node<P>& node = tree.nodes[i];
    const Vec3<S> d = at - work.mass.base.in_root[i].p;
    for (int a = node.v; a < node.v + node.nv; ++a) add(a, moved(work.screw[a], d));
  }
  const int inward = count;
  for (int a = tree.nodes[node_of_b].v; a <= b; ++a) add(a, work.screw[a]);
  return {inward, count};
}

// Equations (1) to (3) of a rate b and all rates that are inward and outward of it.
template <class S, class P, class Sink>
JOUNCE_INLINE void rate_triples(const Tree<P>& tree, int node_of_b, int b, const Sink& sink,
                                MassPartialsWork<S>& work) {
  const Node<P>& node = tree.nodes[node_of_b];
  const Vec3<S>& at = work.mass.base.in_root[node_of_b].p;
  const Vec3<S> wb = work.screw[b].w;
  const Count count = make_pairs(tree, node_of_b, b, work);
  for (int c = node.v; c < node.v + node.nv; ++c) {
    const Columns<S, S> own{c};
    const Force<S> F = wrench(work.mass.wrenches, own);
    for (int k = 0; k < count.inward; ++k) {
      sink.put_P(work.pairs[k].a, b, own, S(dot(F, work.pairs[k].u)));
    }
  }
  for_columns<S>(node.v + node.nv, node.v_end, [&](auto c) {
    using V = typename decltype(c)::Value;
    const auto d = work.mass.origin.from(at, c);
    const Force<V> F = shifted(d, wrench(work.mass.wrenches, c));
    const Vec3<V> Yw = shifted(F.f, symmetric(work.Y, c), d) * wb;
    for (int k = 0; k < count.inward; ++k) {
      const auto& pair = work.pairs[k];
      sink.put(pair.a, b, c, V(dot(F, pair.u)), V(dot(Yw, pair.w) + dot(F.f, pair.z)));
    }
    for (int k = count.inward; k < count.all; ++k) {
      const auto& pair = work.pairs[k];
      sink.put_Q(pair.a, b, c, V(dot(Yw, pair.w) + dot(F.f, pair.z)));
    }
  });
}

template <class S, class P, class Sink>
JOUNCE_INLINE void all_triples(const Tree<P>& tree, const S* q, const Sink& sink, MassPartialsWork<S>& work) {
  clear(sink);
  mass_matrix(tree, q, work.M, work.mass);
  composite_rates(tree, work);
  for (int i = 0; i < tree.n; ++i) {
    const Node<P>& node = tree.nodes[i];
    for (int b = node.v; b < node.v + node.nv; ++b) rate_triples(tree, i, b, sink, work);
    pause();
  }
}

// Calls visit(x, y, l, sign) for the rates of a node that do not commute: [x, y] = sign * rate l.
template <class P, class Visit>
JOUNCE_INLINE void for_brackets(const Node<P>& node, Visit&& visit) {
  if (!is_group(node.kind)) return;
  // rotations x, y of a cycle x, y, l: [x, y] = l; of a rotation and a slide, likewise a slide
  for (int k = 0; k < 3; ++k) {
    const int x = node.v + k, y = node.v + (k + 1) % 3, l = node.v + (k + 2) % 3;
    visit(x, y, l, 1.0);
    if (node.kind != Kind::free) continue;
    visit(x, y + 3, l + 3, 1.0);
    visit(y, x + 3, l + 3, -1.0);
  }
}

// The last three terms of equation (4) for two rates x, y of one node with [x, y] = sign * rate l.
template <class S, class P>
JOUNCE_INLINE void add_bracket(const Tree<P>& tree, int x, int y, int l, double sign,
                               const Cube<S>& symbols, const S* M) {
  for (int z = 0; z < tree.nv; ++z) {
    S half = M[l * symbols.nv + z];
    if (l == z) half -= tree.armature[z];
    half *= S(0.5 * sign);
    symbols.row(z, y)[x] += half;
    symbols.row(z, x)[y] -= half;
    symbols.row(y, z)[x] -= half;
    symbols.row(x, z)[y] += half;
    symbols.row(y, x)[z] -= half;
    symbols.row(x, y)[z] += half;
  }
}

}  // namespace partials

// dM is (nv, nv, nv), row-major, the direction last.
template <class S, class P>
void mass_matrix_partials(const Tree<P>& tree, const S* q, S* dM, MassPartialsWork<S>& work) {
  partials::all_triples(tree, q, partials::DerivativeSink<S>{{dM, std::size_t(tree.nv)}}, work);
}

template <class S, class P>
void christoffel_symbols(const Tree<P>& tree, const S* q, S* symbols, MassPartialsWork<S>& work) {
  const partials::ChristoffelSink<S> sink{{symbols, std::size_t(tree.nv)}};
  partials::all_triples(tree, q, sink, work);
  for (const Node<P>& node : tree.nodes) {
    partials::for_brackets(node, [&](int x, int y, int l, double sign) JOUNCE_INLINED {
      partials::add_bracket(tree, x, y, l, sign, sink, work.M);
    });
  }
}

template <class S>
struct InverseMassPartialsWork {
  MassPartialsWork<S> mass;
  InverseMassMatrixWork<S> inverse;
  partials::GatheredColumns<S> gathered;
  partials::ColumnBlock<S> block;
  S* N;

  template <class P>
  InverseMassPartialsWork(const Tree<P>& tree, Arena& arena)
      : mass(tree, arena),
        inverse(tree, arena),
        gathered(tree, arena),
        block(tree, arena),
        N(arena.take<S>(std::size_t(tree.nv) * tree.nv)) {}
};

namespace partials {

// Exchanges the first two axes and changes the sign.
template <class S>
JOUNCE_INLINE void negative_swap(const Cube<S>& x) {
  for (int i = 0; i < int(x.nv); ++i) {
    for (int j = 0; j <= i; ++j) {
      S *a = x.row(i, j), *b = x.row(j, i);
      for (std::size_t k = 0; k < x.nv; ++k) {
        const S kept = -a[k];
        a[k] = -b[k];
        b[k] = kept;
      }
    }
  }
}

}  // namespace partials

// dN_k = -N dM_k N with N = M^-1. For a fixed first index, dM and its product with N from the left have
// the sparsity of the tree in the two others, so that both products are those of the partials of forward
// dynamics. Returns a singular node or -1.
template <class S, class P>
int inverse_mass_matrix_partials(const Tree<P>& tree, const S* q, S* dN, InverseMassPartialsWork<S>& work) {
  const std::size_t nv = tree.nv;
  const bool products = partials::has_few_related(tree);
  const int singular = inverse_mass_matrix(tree, q, work.N, work.inverse);
  if (singular >= 0) return singular;
  mass_matrix_partials(tree, q, dN, work.mass);
  for (const bool second : {false, true}) {
    for (std::size_t i = 0; i < nv; ++i) {
      S* rows = dN + i * nv * nv;
      partials::negative_apply(tree, products, work.N, {rows}, work.inverse, work.gathered, work.block);
      pause();
    }
    if (!second) partials::negative_swap(partials::Cube<S>{dN, nv});
  }
  return -1;
}

}  // namespace jounce
