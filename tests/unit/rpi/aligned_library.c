/* A library that gets memory with an alignment and frees it, and loads another one. */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int use_memory(void);
__attribute__((visibility("default"))) void* load_library(const char* file);

typedef void* open_function(const char*, int);
__attribute__((visibility("default"))) open_function* used_dlopen(void);

/* How much of it is not aligned, or refused. */
int use_memory(void) {
  void* first = NULL;
  void* volatile second = aligned_alloc(128, 1000);
  int wrong = posix_memalign(&first, 256, 100) != 0;
  wrong += (size_t)first % 256 != 0 || (size_t)second % 128 != 0;
  free(first);
  free(second);
  return wrong;
}

open_function* used_dlopen(void) { return dlopen; }

void* load_library(const char* file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }
