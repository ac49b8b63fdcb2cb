/* lapi.h alone, first in the file, as C89: it compiles, and its structures lie as they do in C11. */
#include "api/include/lapi.h"

typedef char counter_is_as_in_c11[sizeof(lapi_cntr_t) == 32 && offsetof(lapi_cntr_t, dest_list) == 8 ? 1 : -1];

int old_c_header_compiled(void);
int old_c_header_compiled(void) {
  lapi_info_t info;
  bzero(&info, sizeof info);
  return info.num_compl_hdlr_thr == 0 && sizeof(counter_is_as_in_c11) == 1;
}
