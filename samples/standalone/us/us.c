/* Standalone user space mode: tasks that are started by hand drive their adapters themselves, without a launcher.
 *
 *   us
 *
 * Nothing here is about that: who the task is and where the others are comes from its environment and from the network
 * table of its job (README.LAPI.STANDALONE.US). The driver of each pair puts a page into its buddy's memory and gets it
 * back; both count the packets. */
#include "sample.h"

#define LENGTH 65536

static unsigned char page[LENGTH], copy[LENGTH];
static lapi_cntr_t arrived, complete;

int main(void) {
  lapi_info_t info;
  lapi_statistics_t statistics;
  unsigned char* page_of_buddy;
  lapi_cntr_t* arrived_of_buddy;
  int at;

  bzero(&info, sizeof info);
  start_with(&info);
  page_of_buddy = (unsigned char*)address_in_buddy(page);
  arrived_of_buddy = (lapi_cntr_t*)address_in_buddy(&arrived);

  if (driver) {
    for (at = 0; at < LENGTH; ++at) copy[at] = (unsigned char)(at % 251);
    CALL(LAPI_Put(handle, buddy, LENGTH, page_of_buddy, copy, arrived_of_buddy, NULL, &complete));
    wait_for(&complete);
    memset(copy, 0, LENGTH);
    CALL(LAPI_Get(handle, buddy, LENGTH, page_of_buddy, copy, NULL, &complete));
    wait_for(&complete);
    for (at = 0; at < LENGTH; ++at) CHECK(copy[at] == at % 251);
  } else {
    wait_for(&arrived);
    for (at = 0; at < LENGTH; ++at) CHECK(page[at] == at % 251);
  }
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Qenv(handle, QUERY_STATISTICS, (int*)&statistics));
  CHECK(statistics.Tot_pkt_sent_cnt > 0);
  printf("task %d: %s carried it, %lld packets sent\n", task,
         info.protocol == LAPI_DEV_VERBS  ? "an RDMA adapter"
         : info.protocol == LAPI_DEV_DPDK ? "an Ethernet adapter over DPDK"
                                          : "something else",
         (long long)statistics.Tot_pkt_sent_cnt);
  finish("user space");
  return 0;
}
