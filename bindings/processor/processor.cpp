// What the processor can do, asked of itself: by this the variant of the core is chosen, so this module
// alone is compiled for every processor.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__x86_64__) || defined(_M_X64)
#define JOUNCE_X86 1
#if defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace {

#if defined(JOUNCE_X86)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf) {
  Registers r;
#if defined(_MSC_VER)
  int x[4];
  __cpuid(x, int(leaf & 0x80000000u));
  if (unsigned(x[0]) < leaf) return r;
  __cpuidex(x, int(leaf), 0);
  r = {unsigned(x[0]), unsigned(x[1]), unsigned(x[2]), unsigned(x[3])};
#else
  __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
  return r;
}

// Which registers the system saves when it switches tasks.
unsigned saved_registers() {
#if defined(_MSC_VER)
  return unsigned(_xgetbv(0));
#else
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

// A flag as Linux calls it, the bit that says so, and what the system must save for it.
struct Flag {
  const char* name;
  unsigned word;
  int bit;
  unsigned saved;
};

// The words of the flags in order: leaf 1 ecx, leaf 7 ebx, leaf 0x80000001 ecx.
constexpr unsigned kAvx = 0x6, kAvx512 = 0xe6;
constexpr Flag kFlags[] = {
    {"ssse3", 0, 9, 0},          {"fma", 0, 12, kAvx},         {"cx16", 0, 13, 0},
    {"sse4_1", 0, 19, 0},        {"sse4_2", 0, 20, 0},         {"movbe", 0, 22, 0},
    {"popcnt", 0, 23, 0},        {"avx", 0, 28, kAvx},         {"f16c", 0, 29, kAvx},
    {"bmi1", 1, 3, 0},           {"avx2", 1, 5, kAvx},         {"bmi2", 1, 8, 0},
    {"avx512f", 1, 16, kAvx512}, {"avx512dq", 1, 17, kAvx512}, {"avx512cd", 1, 28, kAvx512},
    {"avx512bw", 1, 30, kAvx512}, {"avx512vl", 1, 31, kAvx512}, {"lahf_lm", 2, 0, 0},
    {"abm", 2, 5, 0},
};

PyObject* flags(PyObject*, PyObject*) {
  const unsigned basic = cpuid(1).ecx;
  const unsigned words[] = {basic, cpuid(7).ebx, cpuid(0x80000001u).ecx};
  const unsigned saved = (basic >> 27) & 1 ? saved_registers() : 0;
  PyObject* names = PySet_New(nullptr);
  for (const Flag& flag : kFlags) {
    if (!names) break;
    if (!((words[flag.word] >> flag.bit) & 1) || (saved & flag.saved) != flag.saved) continue;
    PyObject* name = PyUnicode_FromString(flag.name);
    const bool added = name && PySet_Add(names, name) == 0;
    Py_XDECREF(name);
    if (!added) Py_CLEAR(names);
  }
  return names;
}

#else

PyObject* flags(PyObject*, PyObject*) { Py_RETURN_NONE; }

#endif

PyMethodDef functions[] = {
    {"flags", flags, METH_NOARGS, "Flags of the processor that the system supports, as Linux names them."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "_processor",
                      "What the processor can do.",
                      0,
                      functions,
                      slots,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__processor() { return PyModuleDef_Init(&module); }
