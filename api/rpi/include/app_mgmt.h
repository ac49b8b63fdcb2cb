/* SPDX-License-Identifier: Apache-2.0 */
/* struct _gps: where a process runs (rpi SSI specification, section 3.3.1). */
#ifndef OPENLAPI_APP_MGMT_H
#define OPENLAPI_APP_MGMT_H

#include "typical.h"

struct _gps {
  int4 gps_node;  /* number of its node in the universe */
  int4 gps_pid;   /* POSIX process number */
  int4 gps_idx;   /* its place in the table of its node's daemon */
  int4 gps_grank; /* its rank in its MPI_COMM_WORLD */
};

#endif
