// LAPI_Qenv and LAPI_Senv.
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <type_traits>

#include "api/arguments/program_registry.h"
#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/context/context_resources.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"

namespace openlapi {

namespace {

constexpr int kMinTimeout = 10;
constexpr int kMaxTimeout = 86400;
constexpr int kMaxAckThreshold = 31;

void fill(lapi_statistics_t& out, const MessageStatistics& in) {
  out.Tot_dup_pkt_cnt = in.duplicate_packets;
  out.Tot_retrans_pkt_cnt = in.retransmitted_packets;
  out.Tot_gho_pkt_cnt = in.ghost_packets;
  out.Tot_pkt_sent_cnt = in.packets_sent;
  out.Tot_pkt_rcv_cnt = in.packets_received;
  out.Tot_data_sent = in.data_sent;
  out.Tot_data_rcv = in.data_received;
}

void print(const char* path, const MessageStatistics& statistics) {
  lapi_statistics_t values{};
  fill(values, statistics);
  std::printf("%s:\n"
              "  Tot_dup_pkt_cnt     %llu\n"
              "  Tot_retrans_pkt_cnt %llu\n"
              "  Tot_gho_pkt_cnt     %llu\n"
              "  Tot_pkt_sent_cnt    %llu\n"
              "  Tot_pkt_rcv_cnt     %llu\n"
              "  Tot_data_sent       %llu\n"
              "  Tot_data_rcv        %llu\n",
              path, values.Tot_dup_pkt_cnt, values.Tot_retrans_pkt_cnt, values.Tot_gho_pkt_cnt,
              values.Tot_pkt_sent_cnt, values.Tot_pkt_rcv_cnt, values.Tot_data_sent, values.Tot_data_rcv);
  if (statistics.bulk_sent + statistics.bulk_received + statistics.bulk_fallbacks == 0) return;
  std::printf("  bulk transfers sent      %" PRIu64 "\n"
              "  bulk transfers received  %" PRIu64 "\n"
              "  bulk transfers in packets after a failure %" PRIu64 "\n",
              statistics.bulk_sent, statistics.bulk_received, statistics.bulk_fallbacks);
}

void print_all(Context& context) {
  const Endpoint& endpoint = context.endpoint();
  std::printf("LAPI statistics of task %u, instance %u\n", context.resources().bootstrap->task(),
              context.resources().instance);
  print("network", endpoint.statistics(StatisticsPath::network));
  print("shared memory", endpoint.statistics(StatisticsPath::shared_memory));
  print("local copy", endpoint.statistics(StatisticsPath::local));
  std::fflush(stdout);
}

void list_shm_tasks(Context& context, int* list) {
  const std::vector<int>& numbers = context.resources().shm_numbers;
  for (std::uint32_t task = 0; task < context.tasks(); ++task) list[task] = task < numbers.size() ? numbers[task] : -1;
}

// The queries that fill one integer.
int integer_of(Context& context, lapi_query_t query) {
  ContextResources& resources = context.resources();
  const Settings& settings = resources.settings;
  switch (query) {
    case TASK_ID:
      return static_cast<int>(resources.bootstrap->task());
    case NUM_TASKS:
      return static_cast<int>(context.tasks());
    case MAX_UHDR_SZ:
      return static_cast<int>(context.max_user_header());
    case MAX_DATA_SZ:
      return sizeof(long) == 8 ? -1 : INT_MAX;  // 64 bits: all bits set, the largest unsigned integer
    case ERROR_CHK:
      return context.checks_arguments() ? 1 : 0;
    case TIMEOUT:
      return static_cast<int>(resources.timeout_seconds);
    case MIN_TIMEOUT:
      return kMinTimeout;
    case MAX_TIMEOUT:
      return kMaxTimeout;
    case INTERRUPT_SET:
      return context.polling_mode() ? 0 : 1;
    case MAX_PORTS:
      return static_cast<int>(kMaxContexts);
    case MAX_PKT_SZ:
      return static_cast<int>(context.endpoint().sizes().packet_payload);
    case NUM_REX_BUFS:
      return settings.retransmit_buffer_count;
    case REX_BUF_SZ:
    case BUF_CP_SIZE:
      return settings.retransmit_buffer_size;
    case LOC_ADDRTBL_SZ:
      return kAddressTableSize;
    case MAX_ATOM_SIZE:
      return kMaxAtomSize;
    case MAX_PKTS_OUT:
      return static_cast<int>(context.endpoint().sizes().packets_out);
    case ACK_THRESHOLD:
      return static_cast<int>(resources.ack_threshold);
    case QUERY_SHM_ENABLED:
      return resources.shm_numbers.empty() ? 0 : 1;
    case QUERY_SHM_NUM_TASKS:
      return resources.shm_tasks;
    case BULK_XFER:
      return settings.use_bulk ? 1 : 0;
    case BULK_MIN_MSG_SIZE:
      return settings.bulk_minimum;
    default:
      return 0;  // EPOCH_NUM, USE_THRESH, RCV_FIFO_SIZE: kept for old programs
  }
}

// The engine's numbers change while another thread is inside; everything else stays, or is atomic.
bool needs_lock(lapi_query_t query) {
  return query == QUERY_STATISTICS || query == QUERY_SHM_STATISTICS || query == QUERY_LOCAL_SEND_STATISTICS ||
         query == PRINT_STATISTICS;
}

void answer(Context& context, lapi_query_t query, int* result) {
  auto statistics = [&](StatisticsPath path) {
    fill(*reinterpret_cast<lapi_statistics_t*>(result), context.endpoint().statistics(path));
  };
  switch (query) {
    case QUERY_STATISTICS:
      return statistics(StatisticsPath::network);
    case QUERY_SHM_STATISTICS:
      return statistics(StatisticsPath::shared_memory);
    case QUERY_LOCAL_SEND_STATISTICS:
      return statistics(StatisticsPath::local);
    case QUERY_SHM_TASKS:
      return list_shm_tasks(context, result);
    case PRINT_STATISTICS:
      return print_all(context);
    default:
      *result = integer_of(context, query);
  }
}

bool in_range(int value, int smallest, int largest) { return value >= smallest && value <= largest; }

int refuse_value(const char* query, int value, int smallest, int largest) {
  return refuse(LAPI_ERR_SET_VAL, "%s is %d; allowed are %d to %d", query, value, smallest, largest);
}

int refuse_query(lapi_query_t query) {
  return refuse(LAPI_ERR_QUERY_TYPE, "query is %d; allowed are 0 to %d", static_cast<int>(query), LAST_QUERY - 1);
}

// `bell`: to be rung without the lock.
int set(Context& context, lapi_query_t query, int value, std::shared_ptr<Bell>& bell) {
  ContextResources& resources = context.resources();
  switch (query) {
    case ACK_THRESHOLD:
      if (!in_range(value, 1, kMaxAckThreshold)) return refuse_value("ACK_THRESHOLD", value, 1, kMaxAckThreshold);
      resources.ack_threshold = static_cast<std::uint32_t>(value);
      context.endpoint().set_ack_threshold(static_cast<std::uint32_t>(value));
      return LAPI_SUCCESS;
    case ERROR_CHK:
      if (!in_range(value, 0, 1)) return refuse_value("ERROR_CHK", value, 0, 1);
      context.set_check_arguments(value == 1);
      return LAPI_SUCCESS;
    case INTERRUPT_SET:
      if (!in_range(value, 0, 1)) return refuse_value("INTERRUPT_SET", value, 0, 1);
      bell = context.set_polling_mode(value == 0);
      return LAPI_SUCCESS;
    case TIMEOUT:
      if (!in_range(value, kMinTimeout, kMaxTimeout)) return refuse_value("TIMEOUT", value, kMinTimeout, kMaxTimeout);
      resources.timeout_seconds = static_cast<std::uint32_t>(value);
      if (!resources.settings.never_time_out) {
        context.endpoint().set_timeout(static_cast<Nanoseconds>(value) * kSecond);
      }
      return LAPI_SUCCESS;
    default:
      return refuse(LAPI_ERR_QUERY_TYPE,
                    "query is %d; LAPI_Senv sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET and TIMEOUT",
                    static_cast<int>(query));
  }
}

bool is_query(lapi_query_t query) {
  const auto number = static_cast<unsigned>(query);
  return number < static_cast<unsigned>(LAST_QUERY);
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (!is_query(query)) return refuse_query(query);
  if (ret_val == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "ret_val");
  return run_call([&] {
    Call call(*context, hndl, CallKind::local);
    if (call.error() == EAGAIN && !needs_lock(query)) {
      return context->look(hndl, [&] { answer(*context, query, ret_val); });
    }
    if (call.error() != LAPI_SUCCESS) return call.error();
    answer(*context, query, ret_val);
    return LAPI_SUCCESS;
  });
}

int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (!is_query(query)) return refuse_query(query);
  std::shared_ptr<Bell> bell;
  const int code = run_call([&] {
    Call call(*context, hndl, CallKind::local);
    if (call.error() != LAPI_SUCCESS) return call.error();
    return set(*context, query, set_val, bell);
  });
  if (bell != nullptr) bell->ring();
  return code;
}

OPENLAPI_PROFILED(LAPI_Qenv);
OPENLAPI_PROFILED(LAPI_Senv);
