/* LAPI in a program that has loaded an MPI library. Usage: mpi_loaded LIBRARY global|local.
   Status 3: LAPI_Init refuses. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "lapi.h"

int main(int count, char** words) {
  if (count != 3 || dlopen(words[1], RTLD_NOW | (strcmp(words[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL)) == NULL) {
    fprintf(stderr, "mpi_loaded: %s\n", count == 3 ? dlerror() : "LIBRARY global|local");
    return 2;
  }
  lapi_handle_t handle;
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  info.lib_vers = LAST_LIB;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 3;
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}
