/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers for boot modules have in common. */
#ifndef OPENLAPI_TYPICAL_H
#define OPENLAPI_TYPICAL_H

#include <stdint.h>

#define LAM_SSI_PUBLIC __attribute__((visibility("default")))

/* What most functions return when they fail. */
#ifndef LAMERROR
#define LAMERROR (-1)
#endif

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

typedef int32_t int4;
typedef unsigned int unint;

#endif
