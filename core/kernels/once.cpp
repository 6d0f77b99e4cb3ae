#define JOUNCE_ONCE template
#include "jounce/kernels/once.hpp"
