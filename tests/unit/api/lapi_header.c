/* lapi.h alone, first in the file, as C11 without any extension: everything is checked while this compiles. What runs
 * is what only a running program shows. */
#define LAPI_SIZE_LIMITS 1
#include "api/include/lapi.h"
#include "tests/unit/api/lapi_layout.h"
#include "tests/unit/api/lapi_places.h"
#include "tests/unit/api/lapi_types.h"
#include "tests/unit/api/lapi_values.h"

#include <stdio.h>
#include <stdlib.h>

int cxx_header_compiled(void);
int own_names_compiled(void);
int old_c_header_compiled(void);
int old_cxx_header_compiled(void);
int system_headers_first_compiled(void);

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

int main(void) {
  static lapi_cntr_t zeroed_counter;
  expect(zeroed_counter.cntr == 0 && *(int*)&zeroed_counter == 0, "a zeroed counter is 0, in its first field");

  lapi_info_t info;
  bzero(&info, sizeof(lapi_info_t));
  info.num_compl_hdlr_thr = 3;
  expect(info.num_compl_hndlr_thr == 3, "both spellings are one field");
  expect(info.err_hndlr == NULL && info.err_hdlr == NULL, "a zeroed lapi_info_t has no error handler");
  expect(info.lib_vers == L1_LIB, "a zeroed lapi_info_t means L1_LIB");

  int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
  lapi_dgsm_copy_t* copy = (lapi_dgsm_copy_t*)&code[0];
  lapi_dgsm_iterate_t* iterate = (lapi_dgsm_iterate_t*)&code[LAPI_DGSM_COPY_SIZE];
  copy->opcode = LAPI_DGSM_COPY;
  copy->bytes = 5;
  copy->offset = -7;
  iterate->opcode = LAPI_DGSM_ITERATE;
  iterate->iter_loc = -LAPI_DGSM_COPY_SIZE;
  expect(copy->bytes == 5 && copy->offset == -7 && iterate->iter_loc == -LAPI_DGSM_COPY_SIZE,
         "instructions follow each other");

  expect(old_c_header_compiled() && old_cxx_header_compiled(), "C89 and C++98 are linked in");
  expect(cxx_header_compiled() && own_names_compiled() && system_headers_first_compiled(),
         "all languages are linked in");
  return 0;
}
