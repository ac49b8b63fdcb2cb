/* SPDX-License-Identifier: Apache-2.0 */
/* struct lamnode: a node of the universe (boot SSI specification, section 2.3.1). */
#ifndef OPENLAPI_LAMNET_H
#define OPENLAPI_LAMNET_H

#include <netinet/in.h>
#include <sys/types.h>

#include "all_list.h"
#include "net.h"

/* Names of files and programs. */
#define DEFFBHOST "lam-bhost.def"
#define DEFTHBOOT "hboot"
#define DEFTTKILL "tkill"
#define DEFTWIPE "wipe"

/* An element of lnd_keyval. */
typedef struct {
  char* key;
  char* value;
} ELEM;

/* What a boot module adds to a node; each module defines it for itself. */
struct lnd_ssi_boot_nodeinfo;

struct lamnode {
  int4 lnd_nodeid;             /* 0 to N-1, or NOTNODEID */
  int4 lnd_type;               /* NT_ flags */
  int4 lnd_ncpus;              /* processors */
  int lnd_bootport;            /* TCP port of the startup protocol */
  char* lnd_hname;             /* name, as in the boot schema */
  char* lnd_uname;             /* user to log in as, or NULL */
  struct sockaddr_in lnd_addr; /* address */
  LIST* lnd_keyval;            /* ELEMs: the key=value pairs of the boot schema; or NULL */
  struct lnd_ssi_boot_nodeinfo* lnd_ssi;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Resolves the names of all valid nodes into lnd_addr. 0, or LAMERROR with the reason on standard error and the index
 * of the first that has no address in `*badhost`. */
LAM_SSI_PUBLIC int lamnet_findhosts(struct lamnode* nodes, int nnodes, int* badhost);
/* Index of the first valid node whose lnd_addr is an address of this machine; -1: there is none. */
LAM_SSI_PUBLIC int lamnet_findorig(struct lamnode* nodes, int nnodes);

#ifdef __cplusplus
}
#endif

#endif
