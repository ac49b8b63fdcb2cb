/* SPDX-License-Identifier: Apache-2.0 */
/* The session of this process, for LAM 7.1's boot modules, which pass it on to other nodes. */
#ifndef OPENLAPI_LAMINTERNAL_H
#define OPENLAPI_LAMINTERNAL_H

#include "typical.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What options -sessionprefix and -sessionsuffix of the tool, or the environment, say: malloc'ed; NULL: nothing. */
LAM_SSI_PUBLIC char* lam_get_tmpdir_prefix(void);
LAM_SSI_PUBLIC char* lam_get_tmpdir_suffix(void);

#ifdef __cplusplus
}
#endif

#endif
