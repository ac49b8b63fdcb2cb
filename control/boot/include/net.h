/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes are numbered with, and the flags of their types. */
#ifndef OPENLAPI_NET_H
#define OPENLAPI_NET_H

#include "typical.h"

/* The lnd_nodeid of a node that is none: all its other members mean nothing. */
#define NOTNODEID (-1)

/* Flags of lnd_type. */
#define NT_WASTE 0x04   /* not for default scheduling */
#define NT_BOOT 0x40    /* to be booted */
#define NT_ME 0x80      /* the local node */
#define NT_ORIGIN 0x100 /* the node from which the universe was booted */
#define NT_JOINS 0x200  /* to be booted into a universe that is there already */
#define NT_ENDED 0x400  /* with NT_BOOT: was started, and ended again because others failed */

#endif
