/* The kernels of jounce for C, and for everything that can call C.
 *
 * A kernel has named inputs and outputs, arrays of doubles whose trailing dimensions are contiguous,
 * and runs over a batch of states. The list tells what there is; shapes follow from a model and the
 * order r of a series. Nothing here raises or prints: a call returns a status, and what failed. Motions
 * of many steps (rollouts), constraints, and functions without a model (exponentials) are not listed.
 *
 *   const jounce_kernel* id = jounce_find_kernel("inverse_dynamics");
 *   jounce_call call = {0};
 *   call.states = 100;
 *   call.inputs[0] = q;  call.input_steps[0] = nq;   (0 as step: the same for all states)
 *   ...
 *   call.outputs[0] = tau;  call.output_steps[0] = nv;
 *   if (jounce_run(id, model, &call, &failure) != JOUNCE_DONE) ...
 *
 * Conventions (frames, orders, units) are those of the Python package. Models may be shared between
 * threads. Null pointers where an object is expected are refused, not followed.
 *
 * JOUNCE_ABI counts the versions of the structures below. They are filled with zeros first, so that a
 * program compiled with an older header means what it meant; jounce_abi() is that of the library. */
#ifndef JOUNCE_H
#define JOUNCE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define JOUNCE_API __declspec(dllexport)
#else
#define JOUNCE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define JOUNCE_ABI 4
JOUNCE_API int jounce_abi(void);

typedef struct jounce_model jounce_model;
typedef struct jounce_kernel jounce_kernel;

/* A tree of elementary joints, numbered depth first; matrices are row-major. In Python most of it is
 * in `model.nodes`, armature and gravity in the model itself. */
typedef struct {
  int n, n_bodies;
  const int* parent;        /* (n) node, -1: the world */
  const int* kind;          /* (n) 0 revolute, 1 prismatic, 2 helical, 3 spherical, 4 free */
  const int* body_node;     /* (n_bodies) node of each body */
  const double* placement;  /* (n, 4, 4) pose in the parent at the neutral configuration */
  const double* alignment;  /* (n, 4, 4) the joint's frame, which acts about and along z, in the node's */
  const double* pitch;      /* (n) of helical joints, m/rad */
  const double* parameters; /* (n, 10) m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the node's origin */
  const double* armature;   /* (nv) */
  const double* gravity;    /* (3) */
  int n_frames;             /* further frames, beside those of the bodies; may be 0 */
  const int* frame_body;    /* (n_frames) body they are fixed to, -1: the world */
  const double* frame_pose; /* (n_frames, 4, 4) pose in it */
  const double* stiffness;  /* (nv) of joint springs; null: none, and so below */
  const double* springref;  /* (nq) coordinates where they rest; null: neutral */
  const double* damping;    /* (nv) */
  const double* friction;   /* (nv) */
} jounce_tree;

/* Null if the tree is none; then the reason is in `message`, of `room` characters. */
JOUNCE_API jounce_model* jounce_model_new(const jounce_tree* tree, char* message, size_t room);
JOUNCE_API void jounce_model_free(jounce_model* model);
JOUNCE_API int jounce_model_nq(const jounce_model* model);
JOUNCE_API int jounce_model_nv(const jounce_model* model);
JOUNCE_API int jounce_model_bodies(const jounce_model* model);
/* Frames that the option "body" counts: those of the bodies first. */
JOUNCE_API int jounce_model_frames(const jounce_model* model);

JOUNCE_API int jounce_kernel_count(void);
JOUNCE_API const jounce_kernel* jounce_kernel_at(int index);
JOUNCE_API const jounce_kernel* jounce_find_kernel(const char* name); /* null: there is none */
JOUNCE_API const char* jounce_kernel_name(const jounce_kernel* kernel);
/* Whether it serves the package alone, and may change or go without notice. */
JOUNCE_API int jounce_kernel_is_internal(const jounce_kernel* kernel);
JOUNCE_API int jounce_input_count(const jounce_kernel* kernel);
JOUNCE_API int jounce_output_count(const jounce_kernel* kernel);
JOUNCE_API int jounce_option_count(const jounce_kernel* kernel);

enum { JOUNCE_MOST_INPUTS = 16, JOUNCE_MOST_OUTPUTS = 16, JOUNCE_MOST_RANK = 4 };

typedef struct {
  const char* name;
  int optional;
  int is_series; /* its dimensions depend on the order */
  int rank;
  int64_t dims[JOUNCE_MOST_RANK];
  int64_t size; /* product of the dimensions */
} jounce_array;

/* Name and shape of an array for a model; `order` is r of series, 0 to 100, or -1 if the kernel has
 * none. False if there is no such array, or order. */
JOUNCE_API int jounce_input(const jounce_kernel* kernel, int index, const jounce_model* model,
                            int order, jounce_array* array);
JOUNCE_API int jounce_output(const jounce_kernel* kernel, int index, const jounce_model* model,
                             int order, jounce_array* array);
/* "prescribed", "body", "twist", "method" or "tableau". */
JOUNCE_API const char* jounce_option_name(const jounce_kernel* kernel, int index);

/* Bytes that a kernel takes while it runs, for one state or for a pack of states; kept per thread. 0 if
 * the order is none. */
JOUNCE_API size_t jounce_workspace_bytes(const jounce_kernel* kernel, const jounce_model* model,
                                         int order, int pack);

typedef struct {
  int64_t states;
  int order;                                 /* r of series; -1 where there is none */
  const double* inputs[JOUNCE_MOST_INPUTS];  /* null: an optional one that is not given */
  int64_t input_steps[JOUNCE_MOST_INPUTS];   /* doubles from a state to the next; 0: the same for all */
  double* outputs[JOUNCE_MOST_OUTPUTS];      /* must not overlap the inputs or each other */
  int64_t output_steps[JOUNCE_MOST_OUTPUTS];
  const unsigned char* prescribed;           /* (nv) mask of rates, for the option "prescribed" */
  int frame;                                 /* for "body": position among the model's frames; -1 where it may miss */
  int twist;                                 /* for "twist": 0 body, 1 spatial, 2 hybrid, 3 mixed */
  int method;                                /* for "method": 0 automatic, 1 products, 2 solves */
  int threads;                               /* up to 1024; 0: the calling one alone (unlike Python) */
  int (*stop)(void* data);                   /* asked now and then by the calling thread, or null */
  void* data;
  const double* tableau;                     /* for "tableau": an explicit method, see simulation/tableau.hpp */
  int64_t tableau_size;
} jounce_call;

typedef enum {
  JOUNCE_DONE = 0,
  JOUNCE_NOT_FINITE = 1, /* an entry of an input is not a finite number */
  JOUNCE_QUATERNION = 2, /* a quaternion's length differs from 1 by more than 1e-3, or is zero */
  JOUNCE_SINGULAR = 3,   /* the inertia that a joint moves vanishes */
  JOUNCE_OVERFLOW = 4,   /* a result is not finite */
  JOUNCE_STOPPED = 5,    /* by `stop` */
  JOUNCE_NO_MEMORY = 6,
  JOUNCE_BAD_CALL = 7,   /* something that the kernel needs is missing or out of range: see `reason` */
  JOUNCE_NOT_POSITIVE = 8 /* an entry of an input that must be positive, "dt", is not */
} jounce_status;

/* Where it failed; -1 where that does not apply. */
typedef struct {
  int64_t state; /* the lowest one that failed */
  int input;
  int64_t entry; /* of the input */
  int node;      /* the joint's */
  const char* reason; /* of JOUNCE_BAD_CALL, else null */
} jounce_failure;

/* Runs a kernel. `failure` may be null. If it does not return JOUNCE_DONE, outputs are undefined. */
JOUNCE_API jounce_status jounce_run(const jounce_kernel* kernel, const jounce_model* model,
                                    const jounce_call* call, jounce_failure* failure);

#ifdef __cplusplus
}
#endif

#endif
