/* Plans of _plan.py as functions that CasADi loads by `external`.
 *
 * Python fills the structures below, attaches one to each function, and keeps them. A function has its
 * memory from CasADi, so that several threads may call it at once. FUNCTIONS is given on the command line,
 * as F(forward_dynamics) F(forward_dynamics_jacobian) ... */
#include "jounce/jounce.h"

typedef long long int casadi_int;

/* A kernel to run. */
typedef struct {
  const jounce_kernel* kernel;
  jounce_call call; /* with the addresses of constants */
  casadi_int n_inputs, n_outputs;
  const casadi_int* slots;   /* (n_inputs) which input of the kernel it is */
  const casadi_int* inputs;  /* (n_inputs) where it is in memory; -1: among the constants */
  const casadi_int* outputs; /* (n_outputs) where it goes */
} plan_step;

typedef struct {
  jounce_status (*run)(const jounce_kernel*, const jounce_model*, const jounce_call*, jounce_failure*);
  const jounce_model* model;
  casadi_int size; /* of the memory */
  casadi_int n_in, n_out, n_steps;
  const casadi_int* const* sparsity_in; /* (n_in), as CasADi writes it */
  const casadi_int* const* sparsity_out;
  const casadi_int* arguments; /* (n_in + 1) where each begins in memory */
  const casadi_int* order;     /* for each number of them: which entry of its argument it is */
  const plan_step* steps;
  const casadi_int* const* first; /* (n_out): for each nonzero its first term, and the end of all */
  const casadi_int* a;            /* a term is factor * memory[a] * memory[b] */
  const casadi_int* b;
  const double* factor;
} plan;

static void take_arguments(const plan* p, const double** arg, double* memory) {
  memory[0] = 1.0;
  for (casadi_int k = 0; k < p->n_in; ++k)
    for (casadi_int i = p->arguments[k]; i < p->arguments[k + 1]; ++i)
      memory[i] = arg[k] ? arg[k][p->order[i - 1]] : 0.0;
}

static int run_step(const plan* p, const plan_step* step, double* memory) {
  jounce_call call = step->call;
  for (casadi_int i = 0; i < step->n_inputs; ++i)
    if (step->inputs[i] >= 0) call.inputs[step->slots[i]] = memory + step->inputs[i];
  for (casadi_int i = 0; i < step->n_outputs; ++i) call.outputs[i] = memory + step->outputs[i];
  return p->run(step->kernel, p->model, &call, 0) != JOUNCE_DONE;
}

static void add_terms(const plan* p, const casadi_int* first, casadi_int nonzeros, const double* memory,
                      double* result) {
  for (casadi_int i = 0; i < nonzeros; ++i) {
    double sum = 0.0;
    for (casadi_int t = first[i]; t < first[i + 1]; ++t)
      sum += p->factor[t] * memory[p->a[t]] * memory[p->b[t]];
    result[i] = sum;
  }
}

static int follow(const plan* p, const double** arg, double** res, double* memory) {
  take_arguments(p, arg, memory);
  for (casadi_int k = 0; k < p->n_steps; ++k)
    if (run_step(p, p->steps + k, memory)) return 1;
  for (casadi_int k = 0; k < p->n_out; ++k) {
    const casadi_int* pattern = p->sparsity_out[k]; /* rows, columns, where each column begins, ... */
    if (res[k]) add_terms(p, p->first[k], pattern[2 + pattern[1]], memory, res[k]);
  }
  return 0;
}

static int tell_work(const plan* p, casadi_int* args, casadi_int* results, casadi_int* integers,
                     casadi_int* numbers) {
  if (args) *args = p->n_in;
  if (results) *results = p->n_out;
  if (integers) *integers = 0;
  if (numbers) *numbers = p->size;
  return 0;
}

#define F(NAME)                                                                                        \
  static const plan* NAME##_plan;                                                                      \
  void attach_##NAME(const plan* given) { NAME##_plan = given; }                                       \
  int NAME(const double** arg, double** res, casadi_int* iw, double* w, int mem) {                     \
    (void)iw, (void)mem;                                                                               \
    return follow(NAME##_plan, arg, res, w);                                                           \
  }                                                                                                    \
  casadi_int NAME##_n_in(void) { return NAME##_plan->n_in; }                                           \
  casadi_int NAME##_n_out(void) { return NAME##_plan->n_out; }                                         \
  const casadi_int* NAME##_sparsity_in(casadi_int k) { return NAME##_plan->sparsity_in[k]; }           \
  const casadi_int* NAME##_sparsity_out(casadi_int k) { return NAME##_plan->sparsity_out[k]; }         \
  int NAME##_work(casadi_int* args, casadi_int* results, casadi_int* integers, casadi_int* numbers) { \
    return tell_work(NAME##_plan, args, results, integers, numbers);                                   \
  }
FUNCTIONS
