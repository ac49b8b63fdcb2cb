/* SPDX-License-Identifier: Apache-2.0 */
/* Boot schemas and process schemas (boot SSI specification, sections 2.3.2, 2.5.1 to 2.5.3). */
#ifndef OPENLAPI_BOOT_H
#define OPENLAPI_BOOT_H

#include "all_list.h"
#include "all_opt.h"
#include "lamnet.h"

/* A process to start on a node. Must not be modified: sfh_argv_dup the words. */
struct psc {
  char** psc_argv; /* ends with NULL */
  int4 psc_argc;
  int4 psc_delay; /* seconds to wait after starting it */
  int4 psc_flags; /* reserved */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a boot schema into a new array of nodes, numbered from 0, all with NT_BOOT. 0, or LAMERROR with file, line and
 * mistake on standard error. Free with lam_deallocate_nodes. */
LAM_SSI_PUBLIC int bhostparse(const char* filename, struct lamnode** nodes, int* nnodes);

/* Parses the process schema that option -c of `ad` names, else lam-conf.lamd, and fills in its variables: $inet_topo
 * and $rtr_topo (NULL: nothing), and what options d, sessionprefix and sessionsuffix of `ad` say. The list has struct
 * psc elements; al_free frees it and them. `debug`: stream for what is done. 0, or LAMERROR as above. */
LAM_SSI_PUBLIC int hbootparse(int debug, OPT* ad, const char* inet_topo, const char* rtr_topo, LIST** proc_list);

/* Frees an array of nodes and what its members point to, except lnd_ssi; sets *nodes to NULL and *nnodes to 0.
 * Always 0; in interface 1.1.0, as in LAM 7.1, nothing. */
#ifdef LAM_SSI_BOOT_1_1_0
LAM_SSI_PUBLIC void lam_deallocate_nodes(struct lamnode** nodes, int* nnodes);
#else
LAM_SSI_PUBLIC int lam_deallocate_nodes(struct lamnode** nodes, int* nnodes);
#endif

#ifdef __cplusplus
}
#endif

#endif
