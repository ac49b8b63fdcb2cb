/* A program for the thread sanitizer: its threads, its handlers and the library's threads share memory.
 *   lapirun -n N api_thread_order ordered        counters, fences and returns of calls order everything
 *   lapirun -n N api_thread_order WHO            and one thing is not ordered: the main thread writes a word while WHO
 * may: header-handler, completion-handler or send-handler
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lapi.h"

#define CELLS 64
#define STEPS 20
#define PAIRS 64
#define CHECK(call) (void)((call) == LAPI_SUCCESS || (fprintf(stderr, "failed: %s\n", #call), exit(1), 0))

enum { STORE_HANDLER = 1, TAKE_HANDLER = 2 };

static lapi_handle_t handle;
static int me, tasks, left, right;
static int unordered; /* written by the main thread, and by one handler */
static const char* who;

/* ISO C has no such cast. */
static void* address_of(hdr_hndlr_t* handler) {
  void* address;
  memcpy(&address, &handler, sizeof address);
  return address;
}

static void write_unordered(const char* writer) {
  if (strcmp(who, writer) == 0) ++unordered;
}

/* ---- what each task shows the others ---- */

static double row[CELLS + 2];
static int total;
static lapi_cntr_t arrived, stored;
static void *rows[64], *totals[64], *arrivals[64], *stores[64];

static void exchange_addresses(void) {
  CHECK(LAPI_Address_init(handle, row, rows));
  CHECK(LAPI_Address_init(handle, &total, totals));
  CHECK(LAPI_Address_init(handle, &arrived, arrivals));
  CHECK(LAPI_Address_init(handle, &stored, stores));
}

/* ---- halo exchange ---- */

static void exchange_halo(void) {
  int step, cell;
  for (step = 0; step < STEPS; ++step) {
    for (cell = 1; cell <= CELLS; ++cell) row[cell] = row[cell] / 2 + row[0] + row[CELLS + 1] + me;
    CHECK(LAPI_Put(handle, right, sizeof row[0], rows[right], &row[CELLS], arrivals[right], NULL, NULL));
    CHECK(LAPI_Put(handle, left, sizeof row[0], (double*)rows[left] + CELLS + 1, &row[1], arrivals[left], NULL, NULL));
    CHECK(LAPI_Waitcntr(handle, &arrived, 2, NULL));
    CHECK(LAPI_Gfence(handle));
  }
}

/* ---- shared counter ---- */

static void count_together(void) {
  int time, one = 1, former;
  lapi_cntr_t done;
  memset(&done, 0, sizeof done);
  for (time = 0; time < STEPS; ++time) {
    CHECK(LAPI_Rmw(handle, FETCH_AND_ADD, 0, totals[0], &one, &former, &done));
    CHECK(LAPI_Waitcntr(handle, &done, 1, NULL));
  }
  CHECK(LAPI_Gfence(handle));
  if (me == 0 && total != tasks * STEPS) exit(1);
}

/* ---- a store of keys and values ---- */

struct pair {
  int key, value;
};
static struct pair incoming[PAIRS], table[PAIRS];
static int headers, completions, sends;

static void store_pair(lapi_handle_t* hndl, void* key) {
  struct pair* pair = &incoming[*(int*)key];
  (void)hndl;
  table[pair->key] = *pair;
  ++completions;
  write_unordered("completion-handler");
  free(key);
}

static void* place_pair(lapi_handle_t* hndl, void* uhdr, uint* uhdr_len, ulong* msg_len, compl_hndlr_t** comp_h,
                        void** uinfo) {
  int* key = malloc(sizeof *key);
  (void)hndl, (void)uhdr_len, (void)msg_len;
  *key = *(int*)uhdr;
  ++headers;
  write_unordered("header-handler");
  *comp_h = store_pair;
  *uinfo = key;
  return &incoming[*key];
}

static void pair_sent(lapi_handle_t* hndl, void* param, lapi_sh_info_t* info) {
  (void)hndl, (void)param, (void)info;
  ++sends;
  write_unordered("send-handler");
}

static void send_pair(int key) {
  struct pair pair;
  lapi_xfer_t transfer;
  pair.key = key;
  pair.value = me;
  memset(&transfer, 0, sizeof transfer);
  transfer.Am.Xfer_type = LAPI_AM_XFER;
  transfer.Am.tgt = right;
  transfer.Am.hdr_hdl = STORE_HANDLER;
  transfer.Am.uhdr = &pair.key;
  transfer.Am.uhdr_len = sizeof pair.key;
  transfer.Am.udata = &pair;
  transfer.Am.udata_len = sizeof pair;
  transfer.Am.shdlr = pair_sent;
  transfer.Am.tgt_cntr = (lapi_long_t)(size_t)stores[right];
  CHECK(LAPI_Xfer(handle, &transfer));
}

static void* exchange_pairs(void* nothing) {
  int key;
  for (key = 0; key < PAIRS; ++key) send_pair(key);
  CHECK(LAPI_Waitcntr(handle, &stored, PAIRS, NULL));
  return nothing;
}

/* A thread sends and waits, so that it or the library runs the handlers, and the main thread none. */
static void exchange_pairs_elsewhere(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exchange_pairs, NULL);
  if (strcmp(who, "ordered") != 0) ++unordered;
  pthread_join(thread, NULL);
  CHECK(LAPI_Gfence(handle));
  if (headers != PAIRS || completions != PAIRS || sends != PAIRS || table[PAIRS - 1].value != left) exit(1);
}

/* ---- counters that another thread sets, and a handler of another context ---- */

static int parcel, letter;
static lapi_cntr_t parcels, letters;
static lapi_handle_t post;

static void* set_parcel(void* nothing) {
  parcel = me + 1;
  CHECK(LAPI_Setcntr(handle, &parcels, 1));
  return nothing;
}

static void* take_letter(lapi_handle_t* hndl, void* uhdr, uint* uhdr_len, ulong* msg_len, compl_hndlr_t** comp_h,
                         void** uinfo) {
  (void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)uinfo;
  letter = me + 1;
  CHECK(LAPI_Setcntr(handle, &letters, 1));
  *comp_h = NULL;
  return NULL;
}

static void* send_letter(void* nothing) {
  lapi_cntr_t done;
  memset(&done, 0, sizeof done);
  CHECK(LAPI_Amsend(post, right, (void*)TAKE_HANDLER, NULL, 0, NULL, 0, NULL, NULL, &done));
  CHECK(LAPI_Waitcntr(post, &done, 1, NULL));
  CHECK(LAPI_Gfence(post));
  return nothing;
}

/* Who sees the value in LAPI_Getcntr finds it in LAPI_Waitcntr at once. */
static void wait_for_one(void* (*setter)(void*), lapi_cntr_t* counter, const int* content) {
  pthread_t thread;
  int value = 0;
  pthread_create(&thread, NULL, setter, NULL);
  while (value == 0) CHECK(LAPI_Getcntr(handle, counter, &value));
  CHECK(LAPI_Waitcntr(handle, counter, 1, NULL));
  if (*content != me + 1) exit(1);
  pthread_join(thread, NULL);
}

static void wait_for_set_counters(void) {
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  info.lib_vers = LAST_LIB;
  wait_for_one(set_parcel, &parcels, &parcel);
  CHECK(LAPI_Init(&post, &info));
  CHECK(LAPI_Addr_set(post, address_of(take_letter), TAKE_HANDLER));
  CHECK(LAPI_Gfence(post));
  wait_for_one(send_letter, &letters, &letter);
  CHECK(LAPI_Term(post));
}

int main(int count, char** words) {
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  info.lib_vers = LAST_LIB;
  who = count > 1 ? words[1] : "ordered";
  CHECK(LAPI_Init(&handle, &info));
  CHECK(LAPI_Qenv(handle, TASK_ID, &me));
  CHECK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  left = (me + tasks - 1) % tasks;
  right = (me + 1) % tasks;
  CHECK(LAPI_Addr_set(handle, address_of(place_pair), STORE_HANDLER));
  exchange_addresses();
  exchange_halo();
  count_together();
  wait_for_set_counters();
  exchange_pairs_elsewhere();
  CHECK(LAPI_Gfence(handle));
  CHECK(LAPI_Term(handle));
  puts("done");
  return 0;
}
