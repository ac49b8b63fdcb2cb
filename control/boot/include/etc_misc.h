/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of LAM 7.1 that its boot modules use beside the specification's. */
#ifndef OPENLAPI_ETC_MISC_H
#define OPENLAPI_ETC_MISC_H

#include "typical.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the message `topic` of `program` from the help files to standard error. `program` and `topic` NULL: ALL.
 * Behind them come its arguments, strings, and NULL: they take the place of %1, %2, ... in the message. When no help
 * file has the message, all of this is printed in one line. */
LAM_SSI_PUBLIC void show_help(const char* program, const char* topic, ...);

/* Runs a command to its end, with the key of this boot on standard input, as lam_ssi_boot_base_ioexecvp does, and our
 * outputs. Its exit status, or the number of the signal that ended it; LAMERROR, with the reason printed: it cannot be
 * started. */
LAM_SSI_PUBLIC int _lam_few(char** argv);

#ifdef __cplusplus
}
#endif

#endif
