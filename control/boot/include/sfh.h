/* SPDX-License-Identifier: Apache-2.0 */
/* sfh_argv_*: growing arrays of words, as exec(3) takes them. An array ends with NULL; it and its words are malloc'ed
 * and are freed with sfh_argv_free. */
#ifndef OPENLAPI_SFH_H
#define OPENLAPI_SFH_H

#include "typical.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a copy of `word`; `*argv` NULL begins a new array. 0, or LAMERROR: no memory. */
LAM_SSI_PUBLIC int sfh_argv_add(int* argc, char*** argv, const char* word);
LAM_SSI_PUBLIC int sfh_argv_count(char** argv);
LAM_SSI_PUBLIC void sfh_argv_free(char** argv);
LAM_SSI_PUBLIC char** sfh_argv_dup(char** argv);
/* The pieces of `words` between separators; empty pieces are left out. Quotes mean nothing. */
LAM_SSI_PUBLIC char** sfh_argv_break(const char* words, int separator);
/* The words in one malloc'ed string, `separator` between them; `limit` bytes at most, without the 0 (0: all). */
LAM_SSI_PUBLIC char* sfh_argv_glue(char** argv, int separator, unsigned int limit);

#ifdef __cplusplus
}
#endif

#endif
