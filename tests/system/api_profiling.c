/* A program with its own LAPI_Put, LAPI_Waitcntr and LAPI_Gfence, which count and call PLAPI_x (chapter 9 of the
 * guide). The library calls none of them by itself. Compiled with PLAIN it has the calls only, for a preloaded
 * profiling library to count. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lapi.h"

#ifndef PLAIN
static int puts_counted, waits_counted, fences_counted;

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
             lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  ++puts_counted;
  return PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val) {
  ++waits_counted;
  return PLAPI_Waitcntr(hndl, cntr, val, cur_cntr_val);
}

int LAPI_Gfence(lapi_handle_t hndl) {
  ++fences_counted;
  return PLAPI_Gfence(hndl);
}
#endif

/* API_UDP_LIST=address:port,...: the program starts without a launcher. */
static void listed_addresses(lapi_extend_t* extension, lapi_info_t* info) {
  static lapi_udp_t list[64];
  char* entry = getenv("API_UDP_LIST");
  int entries = 0;
  if (entry == NULL) return;
  for (entry = strtok(entry, ","); entry != NULL && entries < 64; entry = strtok(NULL, ",")) {
    char* colon = strchr(entry, ':');
    *colon = 0;
    list[entries].ip_addr = inet_addr(entry);
    list[entries++].port_no = (unsigned)atoi(colon + 1);
  }
  memset(extension, 0, sizeof *extension);
  extension->add_udp_addrs = list;
  info->add_info = extension;
}

static void check(int condition, const char* text) {
  if (condition) return;
  printf("not ok 1 - %s\n", text);
  fflush(stdout);
  _exit(1);
}

int main(void) {
  lapi_handle_t handle = 0;
  lapi_info_t info;
  lapi_extend_t extension;
  lapi_cntr_t done;
  int task = -1, tasks = 0, word = 0, turn;
  void** words;
  alarm(60);
  memset(&info, 0, sizeof info);
  memset(&done, 0, sizeof done);
  listed_addresses(&extension, &info);
  check(LAPI_Init(&handle, &info) == LAPI_SUCCESS, "LAPI_Init");
  check(LAPI_Qenv(handle, TASK_ID, &task) == LAPI_SUCCESS, "LAPI_Qenv");
  check(PLAPI_Qenv(handle, NUM_TASKS, &tasks) == LAPI_SUCCESS, "PLAPI_Qenv");
  words = calloc((size_t)tasks, sizeof *words);
  check(words != NULL && LAPI_Address_init(handle, &word, words) == LAPI_SUCCESS, "LAPI_Address_init");
  for (turn = 0; turn < 100; ++turn) {
    check(LAPI_Put(handle, (uint)((task + 1) % tasks), sizeof word, words[(task + 1) % tasks], &task, NULL, NULL,
                   &done) == LAPI_SUCCESS,
          "LAPI_Put");
    check(LAPI_Waitcntr(handle, &done, 1, NULL) == LAPI_SUCCESS, "LAPI_Waitcntr");
  }
  check(LAPI_Gfence(handle) == LAPI_SUCCESS, "LAPI_Gfence");
  check(PLAPI_Gfence(handle) == LAPI_SUCCESS, "PLAPI_Gfence");
  check(word == (task + tasks - 1) % tasks, "the data has arrived");
#ifndef PLAIN
  check(puts_counted == 100, "100 calls of LAPI_Put are counted");
  check(waits_counted == 100, "100 calls of LAPI_Waitcntr are counted");
  check(fences_counted == 1, "one call of LAPI_Gfence is counted");
#endif
  check(LAPI_Term(handle) == LAPI_SUCCESS, "LAPI_Term");
  if (task == 0) printf("ok 1 - calls are counted\n1..1\n");
  free(words);
  return 0;
}
