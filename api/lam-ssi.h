/* SPDX-License-Identifier: Apache-2.0 */
/* What modules of every kind of the System Services Interface have in common, SSI version 1.0.0. */
#ifndef OPENLAPI_LAM_SSI_H
#define OPENLAPI_LAM_SSI_H

#include "all_opt.h"
#include "lamdebug.h"

#define LAM_MPI_SSI_BASE_MAX_KIND_NAME_LEN 32
#define LAM_MPI_SSI_BASE_MAX_MODULE_NAME_LEN 64

/* 1: the module can be used; anything else: it is left out. */
typedef int (*lam_ssi_open_module_fn_t)(OPT* aod);
typedef int (*lam_ssi_close_module_fn_t)(void);

/* First member of every module. */
typedef struct lam_ssi_1_0_0 {
  /* Version of SSI: 1, 0, 0 */
  int ssi_major_version;
  int ssi_minor_version;
  int ssi_release_version;

  /* Kind ("boot") and version of its interface */
  char ssi_kind_name[LAM_MPI_SSI_BASE_MAX_KIND_NAME_LEN];
  int ssi_kind_major_version;
  int ssi_kind_minor_version;
  int ssi_kind_release_version;

  /* Name and version of the module */
  char ssi_module_name[LAM_MPI_SSI_BASE_MAX_MODULE_NAME_LEN];
  int ssi_module_major_version;
  int ssi_module_minor_version;
  int ssi_module_release_version;

  /* Called first and last; either may be NULL */
  lam_ssi_open_module_fn_t ssi_open_module;
  lam_ssi_close_module_fn_t ssi_close_module;
} lam_ssi_1_0_0_t;

typedef lam_ssi_1_0_0_t lam_ssi_t;

#endif
