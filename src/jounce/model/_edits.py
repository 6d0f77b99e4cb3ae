"""The methods of a model that make another one of it; `jounce.model.editing` does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from jounce._types import ArrayLike

if TYPE_CHECKING:
    from jounce.model.model import Model

__all__ = ["Edits"]


class Edits:
    """What can be made of a model. The builder that makes it is imported when it is needed."""

    __slots__ = ()

    def _own(self) -> Model:
        return cast("Model", self)

    def lock(self, values: Mapping[str, ArrayLike]) -> Model:
        """Return the robot with some joints fixed where they are told to be.

        A locked joint is gone; its body becomes a frame of what carries it, which gets its
        inertia. The other joints keep their order, limits and all else; one that mimics a locked
        joint follows none. If a body has several joints and one after another one is locked, what
        precedes it becomes a body of its own, named after body and joint. A link that is fixed to
        the world thereby counts no longer in `total_mass`, `center_of_mass` and `potential_energy`.

        Args:
            values: the position of each joint to lock, by its name: its part of q, one number for
                a joint with one coordinate, a quaternion (x, y, z, w) for a spherical one.

        Raises:
            UnknownNameError: there is no such joint; the message lists the nearest names.
            ArgumentError: a position has the wrong shape, or no unit quaternion.

        Warns:
            ModelWarning: a position is outside the joint's limits.

        Examples:
            >>> import jounce as jc
            >>> arm = jc.models.chain(4)
            >>> arm.lock({"joint2": 0.3}).joint_names
            ('joint0', 'joint1', 'joint3')
        """
        from jounce.model import editing

        return editing.lock(self._own(), values)

    def with_frame(self, name: str, body: str | int | None, pose: ArrayLike | None = None) -> Model:
        """Return the robot with one more named frame.

        Args:
            name: of the frame; no body or frame has it yet.
            body: body or frame that carries it, by name or index; None is the world.
            pose: its pose in that frame: a 4x4 matrix, 3 numbers for a translation, or None.

        Raises:
            UnknownNameError: there is no such body or frame.
            ModelError: the name is taken, or the pose is none.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> probe = arm.with_frame("probe", "tool", [0.0, 0.0, 0.2])
            >>> q = arm.poses["home"]
            >>> change = jc.body_pose(probe, q, "probe") - jc.body_pose(arm, q, "tool")
            >>> float(np.linalg.norm(change[:3, 3]).round(12))
            0.2
        """
        from jounce.model import editing

        return editing.with_frame(self._own(), name, body, pose)

    def with_payload(
        self,
        at: str | int,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Model:
        """Return the robot with a mass fixed to a body.

        Args:
            at: body or frame that carries it, by name or index.
            mass: kg.
            com: its center of mass in that frame, m.
            inertia: 3x3 rotational inertia about the center of mass in the axes of that frame (or
                its 3 diagonal entries), kg m^2; by default that of a point mass.

        Raises:
            UnknownNameError: there is no such body or frame.
            ModelError: it is fixed to the world, or a number is one that no payload has.

        Warns:
            ModelWarning: no rigid body has such an inertia.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> loaded = arm.with_payload("tool", mass=2.0)
            >>> q = arm.poses["home"]
            >>> more = jc.gravity_forces(loaded, q) - jc.gravity_forces(arm, q)
            >>> lift = jc.jacobian(arm, q, "tool", twist="hybrid")[5]  # dz/dt of the tool
            >>> bool(np.allclose(more, 2.0 * 9.81 * lift))
            True
        """
        from jounce.model import editing

        return editing.with_payload(self._own(), at, mass, com, inertia)

    def attach(self, other: Model, at: str | int | None, prefix: str = "") -> Model:
        """Return this robot with another one mounted on it.

        The other one's world is placed at a frame of this one; what was fixed to it is carried
        along, mass included. All joints of both stay, those of the other one behind those that
        this one has on the same body. Gravity and name are this one's. A pose that both have is
        the pose of both; in one that only one of them has, the other is neutral. If one of them is
        coupled, so is the result.

        Args:
            other: the robot to mount, for example a gripper.
            at: body or frame of this robot, by name or index; None is the world.
            prefix: put before the names of the other one's bodies, frames and joints.

        Raises:
            UnknownNameError: there is no such body or frame.
            ModelError: both have a body, frame or joint of the same name; the message says which.

        Examples:
            >>> finger = jc.ModelBuilder().add_body("finger", joint="prismatic", mass=0.1).build()
            >>> arm = jc.models.panda_like().attach(finger, at="tool", prefix="left_")
            >>> arm.nv, arm.joint_names[-1]
            (8, 'left_finger_joint')
        """
        from jounce.model import editing

        made = editing.attach(self._own(), other, at, prefix)
        return made if other.expanded is other else made.coupled()

    def coupled(self) -> Model:
        """Return the robot whose mimic joints follow their leaders; itself if there are none.

        Its rates u are those of the joints that follow none, and all rates are ``v = G u`` with the
        constant matrix ``model.coupling``: its equations of motion are

            G^T M G u' + G^T b(q, G u) = tau

        with M and b of this model at ``q = model.expand(q_u)``. A joint that follows another keeps
        its name and has empty slices. ``model.expanded`` is this model again.

        Raises:
            ModelError: mimic joints follow each other in a cycle, or one of them or its leader has
                more than one coordinate.

        Examples:
            >>> import jounce as jc
            >>> builder = jc.ModelBuilder()
            >>> _ = builder.add_body("left", joint="prismatic", joint_name="close", mass=0.1)
            >>> follow = jc.Mimic("close", -1.0)
            >>> _ = builder.add_body("right", joint="prismatic", mimic=follow, mass=0.1)
            >>> gripper = builder.build().coupled()
            >>> gripper.nv, gripper.v_slice("right_joint")
            (1, slice(1, 1, None))
            >>> jc.mass_matrix(gripper, [0.02])
            array([[0.2]])
        """
        from jounce.model import coupled

        return coupled.coupled(self._own())

    def subtree(self, body: str | int) -> Model:
        """Return a body with all that it carries, as a robot of its own.

        The body's joint becomes fixed to the world: its frame is that of the world, and its own
        mass counts no longer in `total_mass`, `center_of_mass` and `potential_energy`.

        Args:
            body: name or index of the body.

        Raises:
            UnknownNameError: there is no such body.
            ModelError: it is a frame of another body.

        Examples:
            >>> jc.models.quadruped().subtree("front_left_hip").joint_names
            ('front_left_flexion', 'front_left_knee')
        """
        from jounce.model import editing

        return editing.subtree(self._own(), body)

    def reorder(self, joint_names: Sequence[str]) -> Model:
        """Return the same robot with its joints in another order.

        Args:
            joint_names: all joints, in an order that some depth-first numbering has: a joint after
                the one that carries it, and a branch without others in between. Where only an
                array has to be in another order, `v_indices` and `q_indices` serve any.

        Raises:
            UnknownNameError: there is no such joint.
            ArgumentError: a joint is missing or comes twice, or no depth-first numbering has this
                order; the message says where.

        Examples:
            >>> robot = jc.models.tree(3, 2)
            >>> robot.joint_names, robot.reorder(["joint0", "joint2", "joint1"]).joint_names
            (('joint0', 'joint1', 'joint2'), ('joint0', 'joint2', 'joint1'))
        """
        from jounce.model import editing

        return editing.reorder(self._own(), joint_names)
