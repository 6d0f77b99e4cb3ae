/* Inverse dynamics of a pendulum through <jounce/jounce.h>, for two states that share q; then what
 * happens to a state that is not finite. Prints torques, the status and the failing state. */
#include <jounce/jounce.h>
#include <math.h>
#include <stdio.h>

static const int parent[] = {-1}, kind[] = {0}, body_node[] = {0};
static const double identity[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
static const double along_y[] = {1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1};
static const double pitch[] = {0}, armature[] = {0.25}, gravity[] = {0, 0, -9.81};
static const double parameters[] = {2, 0, 0, -1, 0.5, 0, 0.5, 0, 0, 0.01};

int main(void) {
  const jounce_tree tree = {1,     1,          parent,   kind,   body_node, identity, along_y,
                            pitch, parameters, armature, gravity};
  char message[100];
  jounce_model* model = jounce_model_new(&tree, message, sizeof message);
  const jounce_kernel* kernel = jounce_find_kernel("inverse_dynamics");
  if (!model || !kernel || jounce_input_count(kernel) != 4) return 1;
  const double q[] = {0.3};
  double v[] = {0.1, -0.2}, a[] = {1.5, -2.5}, tau[2];
  jounce_call call = {0};
  call.states = 2;
  call.order = -1;
  call.inputs[0] = q;
  call.inputs[1] = v;
  call.inputs[2] = a;
  call.input_steps[1] = call.input_steps[2] = 1;
  call.outputs[0] = tau;
  call.output_steps[0] = 1;
  jounce_failure failure;
  int status = jounce_run(kernel, model, &call, &failure);
  printf("%.17g %.17g %d\n", tau[0], tau[1], status);
  a[1] = NAN;
  status = jounce_run(kernel, model, &call, &failure);
  printf("%d %d %d %d\n", status, (int)failure.state, failure.input, (int)failure.entry);
  jounce_model_free(model);
  return 0;
}
