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

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Parameters, as in LAM 7.1: what the user sets with -ssi NAME VALUE, in the environment LAM_MPI_SSI_NAME ---- */
/* For `ssi_param_name`: a parameter that has no variable and always its default. */
#define LAM_SSI_BASE_PARAM_INFO ((char*)-1)
/* NAME is `type`_`module`_`param`, without those that are NULL, or `ssi_param_name` if that is not NULL. A name that is
 * registered again gets the new default. Returns its index, or LAMERROR: `type` is NULL. Not thread safe. */
LAM_SSI_PUBLIC int lam_ssi_base_param_register_int(const char* type, const char* module, const char* param,
                                                   const char* ssi_param_name, int default_value);
LAM_SSI_PUBLIC int lam_ssi_base_param_register_string(const char* type, const char* module, const char* param,
                                                      const char* ssi_param_name, const char* default_value);
/* The value of the variable, else the default. LAMERROR: no such index. */
LAM_SSI_PUBLIC int lam_ssi_base_param_lookup_int(int index);
/* Malloc'ed; NULL: it has none, or no such index. */
LAM_SSI_PUBLIC char* lam_ssi_base_param_lookup_string(int index);
/* The index, or LAMERROR. */
LAM_SSI_PUBLIC int lam_ssi_base_param_find(const char* type, const char* module, const char* param);

#ifdef __cplusplus
}
#endif

#endif
