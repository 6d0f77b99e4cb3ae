"""MJCF models of our own: what other readers of MJCF get wrong, each in a few lines."""

TREE = """
<mujoco model="tree">
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0.3 -0.2 -9.5"/>
  <default>
    <geom density="700"/>
    <default class="thin"><geom size="0.03" density="900"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <site name="mark" pos="1 2 3"/>
    <body name="torso" pos="0.2 0.1 1.0" euler="0.3 -0.2 0.5">
      <freejoint name="root"/>
      <geom type="box" size="0.2 0.15 0.3" pos="0.02 0.01 0.05" euler="0.1 0.2 0.3"/>
      <site name="chest" pos="0.1 0 0.2" euler="0.4 0 0"/>
      <body name="shoulder" pos="0.2 0.1 0.3" euler="0.5 0 0.2">
        <joint name="ball" type="ball" pos="0.03 -0.02 0.01" armature="0.02" damping="0.3"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0.1" class="thin" size="0.04"/>
        <body name="elbow" pos="0.3 0 0.1">
          <joint name="h1" axis="1 2 0.5" pos="0.02 0.03 -0.04" ref="0.4" range="-1 2"
                 armature="0.05"/>
          <joint name="s1" type="slide" axis="0 1 1" ref="-0.1" damping="0.2"/>
          <joint name="h2" axis="0 0 1" pos="-0.05 0.01 0.02" ref="-0.7" frictionloss="0.1"/>
          <geom type="ellipsoid" size="0.05 0.08 0.2" pos="0 0 0.2"/>
          <body name="plate" pos="0 0.1 0.2" quat="1 0.2 0.3 0.4">
            <geom type="box" size="0.05 0.1 0.02"/>
            <site name="tip" pos="0 0.1 0"/>
            <body pos="0.05 0.1 0">
              <joint axis="1 0 0" pos="0 0.02 0"/>
              <geom type="sphere" class="thin" size="0.06" pos="0 0.1 0.05"/>
            </body>
          </body>
        </body>
      </body>
      <body name="hip" pos="-0.1 0 -0.3">
        <joint name="s2" type="slide" axis="1 0 0" ref="0.2"/>
        <joint name="ball2" type="ball" pos="0.05 0 0.02"/>
        <joint name="s3" type="slide" axis="0 1 0.3" ref="0.3"/>
        <geom type="capsule" fromto="0 0 0 0 0.1 -0.4" class="thin" size="0.05"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""A free base, balls away from the root, several joints on a body with anchors and references,
a ball between slides, fixed and unnamed bodies."""

FOREST = """
<mujoco model="forest">
  <compiler angle="degree"/>
  <worldbody>
    <frame euler="0 30 0" pos="0 0 1">
      <body name="first" pos="1 0 0">
        <joint name="a" axis="0 1 0" ref="20" pos="0.1 0 0"/>
        <joint name="b" axis="1 0 0" ref="-35" pos="0 0.2 0.1"/>
        <joint name="c" axis="0 0 3" ref="50" pos="0 0.1 -0.1"/>
        <geom type="box" size="0.1 0.2 0.3" mass="2"/>
      </body>
    </frame>
    <body name="target" mocap="true" pos="0 0 2"><geom size="0.1"/></body>
    <body name="ball" pos="0 1 0">
      <joint type="ball"/>
      <inertial mass="1.5" pos="0.1 0.2 0.3" fullinertia="0.5 0.6 0.7 0.01 0.02 0.03"/>
      <body name="dead" pos="0 0 0.4"><geom size="0.1" mass="0.4"/></body>
    </body>
    <body pos="0 0 3"><freejoint/><geom type="capsule" size="0.1 0.2" pos="0.1 0.2 0"/></body>
    <body name="wall" pos="0 0 5"><geom size="0.1"/><site name="wall"/>
      <body name="door"><joint type="slide" axis="0 0 1"/><geom size="0.1"/></body>
    </body>
  </worldbody>
</mujoco>
"""
"""Several root bodies: hinges with anchors and references, a ball, a free body, a static one."""

DRIVEN = """
<mujoco>
  <worldbody>
    <body name="one"><joint name="j1" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
      <body name="two" pos="0.3 0 0"><joint name="j2" axis="0 1 0" armature="0.1"/>
        <geom size="0.1" pos="0.2 0 0"/>
        <body name="three" pos="0.3 0 0"><joint name="j3" axis="1 0 0"/>
          <geom size="0.1" pos="0 0.1 0"/>
          <body name="four" pos="0 0.2 0"><joint name="j4" axis="0 0 1"/>
            <geom size="0.1" pos="0.1 0 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="j3" coef="2"/></fixed></tendon>
  <actuator>
    <motor joint="j2" gear="3"/>
    <motor tendon="t"/>
  </actuator>
</mujoco>
"""
