/* SPDX-License-Identifier: Apache-2.0 */
/* Debug streams: where status messages go. */
#ifndef OPENLAPI_LAMDEBUG_H
#define OPENLAPI_LAMDEBUG_H

#include "typical.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes one line. `did` is lam_ssi_boot_did; a negative one is no stream and nothing is written. Thread safe. */
LAM_SSI_PUBLIC void lam_debug(int did, const char* format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
