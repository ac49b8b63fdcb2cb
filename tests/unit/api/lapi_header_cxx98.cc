// lapi.h alone, first in the file, as C++98: it compiles, and its structures lie as they do in C11.
#include "api/include/lapi.h"

template <bool Holds>
struct Check;
template <>
struct Check<true> {
  enum { kHolds = 1 };
};

extern "C" int old_cxx_header_compiled() {
  lapi_info_t info;
  bzero(&info, sizeof info);
  const lapi_long_t address = 0;
  const int sizes[] = {Check<sizeof(lapi_cntr_t) == 32>::kHolds, Check<sizeof(lapi_long_t) == 8>::kHolds,
                       Check<offsetof(lapi_cntr_t, dest_list) == 8>::kHolds};
  return sizes[0] != 0 && info.num_compl_hdlr_thr == 0 && address == 0;
}
