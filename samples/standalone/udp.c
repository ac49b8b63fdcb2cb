/* Standalone UDP: tasks that are started by hand, without a launcher, learn where the others are from a file that has
 * a line "ADDRESS PORT" for each task.
 *
 *   udp handler|list FILE
 *
 * handler: LAPI_Init calls a function of this program, which fills the list of the library. list: the program passes a
 * list of its own. run_udp sets the environment that each task needs. */
#include <arpa/inet.h>

#include "sample.h"

#define MOST_TASKS 64

static const char* file_name;
static int inbox = -1;

/* Fills the addresses of `count` tasks; 0 when the file has them all. */
static int read_addresses(lapi_udp_t* addresses, int count) {
  char address[64];
  unsigned port;
  int at;
  FILE* file = fopen(file_name, "r");
  if (file == NULL) return 1;
  for (at = 0; at < count; ++at) {
    if (fscanf(file, "%63s %u", address, &port) != 2) break;
    addresses[at].ip_addr = inet_addr(address); /* network byte order */
    addresses[at].port_no = port;               /* host byte order */
  }
  fclose(file);
  return at == count ? 0 : 1;
}

static int udp_handler(lapi_handle_t* context, lapi_udp_t* own, lapi_udp_t* addresses, lapi_udpinfo_t* about) {
  (void)context, (void)own;
  printf("task %u: the UDP handler is asked for the addresses of %u tasks\n", about->task_id, about->num_tasks);
  return read_addresses(addresses, (int)about->num_tasks); /* anything but 0 makes LAPI_Init fail */
}

int main(int count, char** words) {
  lapi_info_t info;
  lapi_extend_t where;
  lapi_udp_t addresses[MOST_TASKS];
  lapi_statistics_t statistics;
  const char* procs = getenv("MP_PROCS");
  int* inbox_of_buddy;

  if (count != 3 || (strcmp(words[1], "handler") != 0 && strcmp(words[1], "list") != 0)) {
    fprintf(stderr, "usage: udp handler|list FILE\n");
    return 2;
  }
  file_name = words[2];
  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  bzero(&where, sizeof where);
  if (strcmp(words[1], "handler") == 0) {
    where.udp_hndlr = udp_handler;
  } else {
    where.num_udp_addr = procs == NULL ? 0 : atoi(procs);
    CHECK(where.num_udp_addr > 0 && where.num_udp_addr <= MOST_TASKS);
    CHECK(read_addresses(addresses, where.num_udp_addr) == 0);
    where.add_udp_addrs = addresses;
  }
  info.add_info = &where;
  start_with(&info);
  CHECK(info.protocol == LAPI_DEV_UDP);

  inbox_of_buddy = address_in_buddy(&inbox);
  CALL(LAPI_Put(handle, buddy, sizeof task, inbox_of_buddy, &task, NULL, NULL, NULL));
  CALL(LAPI_Gfence(handle));
  CHECK(inbox == (int)buddy);
  CALL(LAPI_Qenv(handle, QUERY_STATISTICS, (int*)&statistics));
  CHECK(statistics.Tot_pkt_sent_cnt > 0 && statistics.Tot_data_sent >= sizeof task);
  finish(words[1]);
  return 0;
}
