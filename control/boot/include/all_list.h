/* SPDX-License-Identifier: Apache-2.0 */
/* LIST: a doubly linked list of elements of one size, as boot SSI modules use it.
 *
 * The list owns copies of its elements; pointers to elements stay good until the element is deleted. What an element
 * points to belongs to whoever made the element: al_free does not follow it. No function is thread safe on one list. */
#ifndef OPENLAPI_ALL_LIST_H
#define OPENLAPI_ALL_LIST_H

#include "typical.h"

/* The layout is LAM 7.1's: modules that were built with its macros walk our lists, and the other way round. Use it
 * through the functions and macros below. */
struct al_head {
  struct al_head* al_next; /* NULL: the last element */
  struct al_head* al_prev; /* NULL: the first one */
  /* here begins the element itself */
};

struct al_desc {
  int4 al_elemsize;
  int4 al_nelem;
  struct al_head* al_ltop;
  struct al_head* al_lbottom;
  struct al_head* al_ftop; /* not used here: always NULL */
  int4 (*al_comp)(const void* left, const void* right);
};

typedef struct al_desc LIST;

/* Less than, equal to, greater than zero, as for qsort. */
typedef int4 (*al_compare_fn_t)(const void* left, const void* right);

#ifdef __cplusplus
extern "C" {
#endif

/* A new list of elements of `elemsize` bytes; NULL: no memory, or a size below 1. `comp` may be NULL; then al_insert
 * appends and al_find finds nothing. Free with al_free. */
LAM_SSI_PUBLIC LIST* al_init(int4 elemsize, al_compare_fn_t comp);
/* Copies the element to the end; returns the copy, NULL: no memory. */
LAM_SSI_PUBLIC void* al_append(LIST* ald, const void* element);
/* Copies the element behind the last one that is not greater. */
LAM_SSI_PUBLIC void* al_insert(LIST* ald, const void* element);
/* The first element that compares equal to the key, which has the form of an element; or NULL. */
LAM_SSI_PUBLIC void* al_find(LIST* ald, const void* key);
/* Moves an element of the list, whose contents were changed, to its place in the order; returns its place. */
LAM_SSI_PUBLIC void* al_update(LIST* ald, void* element);
/* First and last element; those behind and before an element of the list. NULL: there is none. */
LAM_SSI_PUBLIC void* al_top(const LIST* ald);
LAM_SSI_PUBLIC void* al_bottom(const LIST* ald);
LAM_SSI_PUBLIC void* al_next(const LIST* ald, const void* element);
LAM_SSI_PUBLIC void* al_prev(const LIST* ald, const void* element);
LAM_SSI_PUBLIC int4 al_count(const LIST* ald);
/* Takes one element out; frees the list. 0, or LAMERROR for NULL. */
LAM_SSI_PUBLIC int4 al_delete(LIST* ald, void* element);
LAM_SSI_PUBLIC int4 al_free(LIST* ald);

#ifdef __cplusplus
}
#endif

/* The same three without a call, as in LAM 7.1, whose library has no functions of these names. The argument is
 * evaluated more than once. */
#define al_body(head) ((head) ? (void*)((char*)(head) + sizeof(struct al_head)) : (void*)0)
#define al_count(ald) ((ald) ? (ald)->al_nelem : 0)
#define al_top(ald) (al_count(ald) > 0 ? al_body((ald)->al_ltop) : (void*)0)
#define al_bottom(ald) (al_count(ald) > 0 ? al_body((ald)->al_lbottom) : (void*)0)

#endif
