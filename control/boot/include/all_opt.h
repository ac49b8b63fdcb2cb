/* SPDX-License-Identifier: Apache-2.0 */
/* OPT: the options of a command line. A tool declares them, parses its arguments, and hands the result to the boot SSI,
 * whose modules ask what was given.
 *
 * Options begin with one "-". `opt` is an option's name without it. Strings that are returned belong to the OPT. */
#ifndef OPENLAPI_ALL_OPT_H
#define OPENLAPI_ALL_OPT_H

#include "typical.h"

typedef struct ao_desc OPT;

#define AOVARNUM (-1) /* parameters of an option: all words up to the next option */

/* Flags of an option, for ao_setopt. */
#define AOINT 0x001  /* its parameters are integers */
#define AOMUST 0x002 /* it must be given */

/* Flags of the whole, for ao_setflags. */
#define AOPRESERVE_ARGV 0x001 /* leave argc and argv alone: ao_unused has what was no option */
#define AOIGN_UNRECOG 0x002   /* an unknown option is no mistake: it is left among the unused words */

#ifdef __cplusplus
extern "C" {
#endif

/* New, without options; NULL: no memory. Free with ao_free. */
LAM_SSI_PUBLIC OPT* ao_init(void);
LAM_SSI_PUBLIC void ao_free(OPT* aod);
LAM_SSI_PUBLIC int ao_setflags(OPT* aod, int flags);

/* Declares an option with `nparams` parameters (or AOVARNUM). Options that name each other as `mutex` (NULL: none)
 * exclude one another. "#" is the option -NUMBER. 0, or LAMERROR: it exists already, or the `mutex` does not. */
LAM_SSI_PUBLIC int ao_setopt(OPT* aod, const char* opt, const char* mutex, int nparams, int flags);
/* The same for each letter of `letters`. */
LAM_SSI_PUBLIC int ao_setopt1(OPT* aod, const char* letters, const char* mutex, int nparams, int flags);

/* Parses argv from its second word on. Words that are no option stay in argv (see AOPRESERVE_ARGV), `*argc` of them;
 * words behind "--" are the tail. If all options are single letters they can be written together; else those without
 * parameters can, unless unknown options are ignored. 0, or LAMERROR with the reason on standard error. Both NULL:
 * parses again what was unused, with options that were declared since. */
LAM_SSI_PUBLIC int ao_parse(OPT* aod, int* argc, char** argv);

LAM_SSI_PUBLIC char* ao_argv0(OPT* aod);
/* 1 if the option was given. */
LAM_SSI_PUBLIC int ao_taken(OPT* aod, const char* opt);
LAM_SSI_PUBLIC int ao_ntaken(OPT* aod);
/* Which of the options that exclude `opt`, itself included, was given; NULL: none. */
LAM_SSI_PUBLIC char* ao_chosen(OPT* aod, const char* opt);
/* How often it was given; how many parameters that instance (from 0) has. */
LAM_SSI_PUBLIC int ao_ninsts(OPT* aod, const char* opt);
LAM_SSI_PUBLIC int ao_nparams(OPT* aod, const char* opt, int inst);
/* A parameter as it was written; NULL: there is none such. */
LAM_SSI_PUBLIC char* ao_param(OPT* aod, const char* opt, int inst, int idx);
/* A parameter of an option with AOINT. 0, or LAMERROR. */
LAM_SSI_PUBLIC int ao_intparam(OPT* aod, const char* opt, int inst, int idx, int* value);
/* 1 if such an option was declared; 0 with the number of its parameters, or LAMERROR. */
LAM_SSI_PUBLIC int ao_exam_isopt(OPT* aod, const char* opt);
LAM_SSI_PUBLIC int ao_exam_nparams(OPT* aod, const char* opt, int* nparams);
/* The words behind "--", and those that were no option, the program's name first. 0, or LAMERROR. */
LAM_SSI_PUBLIC int ao_tail(OPT* aod, int* tailc, char*** tailv);
LAM_SSI_PUBLIC int ao_unused(OPT* aod, int* unusedc, char*** unusedv);

#ifdef __cplusplus
}
#endif

#endif
