/* The same in a program that may cancel what it receives. */
#define CANCELS 1
#include "tests/packages/lam_overlap.c"
