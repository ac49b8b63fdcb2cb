/* LAPI_Qenv and LAPI_Senv: prints every attribute, and changes those that can be changed. */
#include "sample.h"

static const struct {
  lapi_query_t query;
  const char* name;
} attributes[] = {
    {TASK_ID, "TASK_ID"},
    {NUM_TASKS, "NUM_TASKS"},
    {MAX_UHDR_SZ, "MAX_UHDR_SZ"},
    {MAX_DATA_SZ, "MAX_DATA_SZ"},
    {ERROR_CHK, "ERROR_CHK"},
    {TIMEOUT, "TIMEOUT"},
    {MIN_TIMEOUT, "MIN_TIMEOUT"},
    {MAX_TIMEOUT, "MAX_TIMEOUT"},
    {INTERRUPT_SET, "INTERRUPT_SET"},
    {MAX_PORTS, "MAX_PORTS"},
    {MAX_PKT_SZ, "MAX_PKT_SZ"},
    {NUM_REX_BUFS, "NUM_REX_BUFS"},
    {REX_BUF_SZ, "REX_BUF_SZ"},
    {LOC_ADDRTBL_SZ, "LOC_ADDRTBL_SZ"},
    {EPOCH_NUM, "EPOCH_NUM"},
    {USE_THRESH, "USE_THRESH"},
    {RCV_FIFO_SIZE, "RCV_FIFO_SIZE"},
    {MAX_ATOM_SIZE, "MAX_ATOM_SIZE"},
    {BUF_CP_SIZE, "BUF_CP_SIZE"},
    {MAX_PKTS_OUT, "MAX_PKTS_OUT"},
    {ACK_THRESHOLD, "ACK_THRESHOLD"},
    {QUERY_SHM_ENABLED, "QUERY_SHM_ENABLED"},
    {QUERY_SHM_NUM_TASKS, "QUERY_SHM_NUM_TASKS"},
    {BULK_XFER, "BULK_XFER"},
    {BULK_MIN_MSG_SIZE, "BULK_MIN_MSG_SIZE"},
};

static const struct {
  lapi_query_t query;
  const char* name;
} statistics[] = {
    {QUERY_STATISTICS, "network"},
    {QUERY_SHM_STATISTICS, "shared memory"},
    {QUERY_LOCAL_SEND_STATISTICS, "to oneself"},
};

static int value_of(lapi_query_t query) {
  int value = 0;
  CALL(LAPI_Qenv(handle, query, &value));
  return value;
}

static void print_attributes(void) {
  size_t at;
  for (at = 0; at < sizeof attributes / sizeof attributes[0]; ++at) {
    printf("  %-20s %d\n", attributes[at].name, value_of(attributes[at].query));
  }
}

/* QUERY_SHM_TASKS fills one int for each task: its number among those that share memory, or -1. */
static void print_shared_memory_tasks(void) {
  int other;
  int* numbers = malloc((size_t)tasks * sizeof(int));
  CHECK(numbers != NULL);
  CALL(LAPI_Qenv(handle, QUERY_SHM_TASKS, numbers));
  printf("  %-20s", "QUERY_SHM_TASKS");
  for (other = 0; other < tasks; ++other) {
    CHECK(numbers[other] >= -1 && numbers[other] < tasks);
    printf(" %d", numbers[other]);
  }
  printf("\n");
  free(numbers);
}

static void print_statistics(void) {
  size_t at;
  lapi_statistics_t counts;
  for (at = 0; at < sizeof statistics / sizeof statistics[0]; ++at) {
    CALL(LAPI_Qenv(handle, statistics[at].query, (int*)&counts));
    printf("  %-20s %llu packets and %llu bytes sent, %llu packets and %llu bytes received\n", statistics[at].name,
           counts.Tot_pkt_sent_cnt, counts.Tot_data_sent, counts.Tot_pkt_rcv_cnt, counts.Tot_data_rcv);
  }
}

/* Sets an attribute and asks for it again. */
static void change(lapi_query_t query, const char* name, int value) {
  const int before = value_of(query);
  CALL(LAPI_Senv(handle, query, value));
  CHECK(value_of(query) == value);
  if (task == 0) printf("  %-20s %d, now %d\n", name, before, value);
}

int main(void) {
  lapi_info_t info;
  int i;
  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  CALL(LAPI_Init(&handle, &info)); /* nothing is set: the defaults are shown */
  task = value_of(TASK_ID);
  tasks = value_of(NUM_TASKS);
  CHECK(value_of(INTERRUPT_SET) == 1 && value_of(ERROR_CHK) == 0);
  CHECK(value_of(TIMEOUT) >= value_of(MIN_TIMEOUT) && value_of(TIMEOUT) <= value_of(MAX_TIMEOUT));
  if (task == 0) {
    printf("attributes, as they are at first:\n");
    print_attributes();
    print_shared_memory_tasks();
    printf("what has been sent and received:\n");
    print_statistics();
    printf("attributes that can be changed:\n");
  }
  change(ERROR_CHK, "ERROR_CHK", 1);
  change(TIMEOUT, "TIMEOUT", value_of(MIN_TIMEOUT));
  change(INTERRUPT_SET, "INTERRUPT_SET", 0);
  change(ACK_THRESHOLD, "ACK_THRESHOLD", 16);

  /* What is out of range, and what cannot be changed, is refused. */
  CHECK(LAPI_Senv(handle, TIMEOUT, value_of(MAX_TIMEOUT) + 1) == LAPI_ERR_SET_VAL);
  CHECK(value_of(TIMEOUT) == value_of(MIN_TIMEOUT));
  for (i = 0; i < LAST_QUERY; ++i) {
    if (i == ERROR_CHK || i == TIMEOUT || i == INTERRUPT_SET || i == ACK_THRESHOLD) continue;
    CHECK(LAPI_Senv(handle, (lapi_query_t)i, 1) == LAPI_ERR_QUERY_TYPE);
  }
  finish("attributes");
  return 0;
}
