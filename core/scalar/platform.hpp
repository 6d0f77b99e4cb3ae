// What differs between compilers and systems.
#pragma once

#define JOUNCE_INLINE inline __attribute__((always_inline))

// The same for a lambda, after its parameters.
#define JOUNCE_INLINED __attribute__((always_inline))

// Code that many kernels share, compiled once.
#define JOUNCE_SHARED __attribute__((noinline))

// Functions of the library that its users call.
#if defined(_WIN32)
#define JOUNCE_EXPORT __declspec(dllexport)
#else
#define JOUNCE_EXPORT __attribute__((visibility("default")))
#endif
