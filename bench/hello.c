/* The shortest LAPI program: what startup_bench times. */
#include "api/include/lapi.h"

int main(void) {
  lapi_handle_t handle;
  lapi_info_t info;
  bzero(&info, sizeof info);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 1;
  if (LAPI_Gfence(handle) != LAPI_SUCCESS) return 1;
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}
