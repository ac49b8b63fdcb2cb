/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of LAM 7.1 include it for what it includes. Command lines are in all_opt.h. */
#ifndef OPENLAPI_ARGS_H
#define OPENLAPI_ARGS_H

#include "net.h"
#include "typical.h"

#endif
