/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of LAM 7.1 include it first. They are written for interface 1.1.0, so names without a version mean that. */
#ifndef OPENLAPI_LAM_CONFIG_H
#define OPENLAPI_LAM_CONFIG_H

#ifndef LAM_SSI_BOOT_1_1_0
#define LAM_SSI_BOOT_1_1_0
#endif
#ifndef LAM_SSI_RPI_1_1_0
#define LAM_SSI_RPI_1_1_0
#endif

#endif
