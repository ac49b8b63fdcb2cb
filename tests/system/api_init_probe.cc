// One LAPI_Init as the words say; prints what it returned and what the context then says of itself, one "name value"
// per line, and lets the tasks talk. The scripts of this folder start it, with and without a launcher.
//
//   api_init_probe [instance=N] [adapter=NAME] [list=ADDRESS:PORT,...] [entries=N] [handler=ok|fail] [silent]
//   [brief] [wrong_target] [undumpable] [room=KIBIBYTES] [epoch=N] [again] [reopen] [linger=FILE]
//
// list: add_udp_addrs; with handler=ok a UDP handler hands the same addresses out. silent: no talking.
// brief: eight bytes to the next task, for jobs that have a hundred times more tasks than the machine has processors.
// wrong_target: what a put to a task that the job has not answers, with this program's arguments as they are checked.
// undumpable: other processes of the user may not read this one's memory. room: how much address space it may have
// beyond what it has before LAPI_Init. epoch: epoch_num, and the task's number on top.
// linger: a task whose LAPI_Init has failed goes on until the file is there.
// again: opens a second context, and ends without LAPI_Term. reopen: the same after LAPI_Term, but task 1 ends instead.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

std::vector<lapi_udp_t> addresses;
bool handler_fails = false;

int udp_handler(lapi_handle_t*, lapi_udp_t* own, lapi_udp_t* list, lapi_udpinfo_t* about) {
  std::printf("handler_task %u\nhandler_tasks %u\nhandler_instance %u\nhandler_port %u\nhandler_address %s\n",
              about->task_id, about->num_tasks, about->instance_no, own->port_no, inet_ntoa(in_addr{own->ip_addr}));
  if (handler_fails) return 7;
  for (uint entry = 0; entry < about->num_tasks; ++entry) list[entry] = addresses[entry];
  return 0;
}

void print_queries() {
  const struct {
    const char* name;
    lapi_query_t query;
  } all[] = {{"task", TASK_ID},
             {"tasks", NUM_TASKS},
             {"max_uhdr", MAX_UHDR_SZ},
             {"max_packet", MAX_PKT_SZ},
             {"error_check", ERROR_CHK},
             {"timeout", TIMEOUT},
             {"rexmit_count", NUM_REX_BUFS},
             {"rexmit_size", REX_BUF_SZ},
             {"copy_size", BUF_CP_SIZE},
             {"ack_threshold", ACK_THRESHOLD},
             {"shm_enabled", QUERY_SHM_ENABLED},
             {"shm_tasks", QUERY_SHM_NUM_TASKS},
             {"bulk", BULK_XFER},
             {"bulk_minimum", BULK_MIN_MSG_SIZE}};
  for (const auto& entry : all) std::printf("%s %d\n", entry.name, query(entry.query));
}

// Round the ring: every size class once, through whatever path there is.
void talk(bool brief) {
  static unsigned char inbox[100000];
  static lapi_cntr_t arrived{};
  const std::vector<unsigned char*> inboxes = exchange(inbox);
  const std::vector<lapi_cntr_t*> counters = exchange(&arrived);
  std::vector<unsigned char> data(sizeof inbox);
  for (const std::size_t length : {std::size_t{8}, std::size_t{5000}, sizeof inbox}) {
    fill(data.data(), length, length + static_cast<unsigned long>(task));
    lapi_cntr_t done{};
    CALL(LAPI_Put(handle, right(), length, inboxes[right()], data.data(), counters[right()], nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
    EXPECT(holds(inbox, length, length + static_cast<unsigned long>(left())));
    CALL(LAPI_Gfence(handle));
    if (brief) break;
  }
  lapi_statistics_t network{}, shared{};
  CALL(LAPI_Qenv(handle, QUERY_STATISTICS, reinterpret_cast<int*>(&network)));
  CALL(LAPI_Qenv(handle, QUERY_SHM_STATISTICS, reinterpret_cast<int*>(&shared)));
  std::printf("network_bytes %llu\nshared_bytes %llu\nattach_failures %llu\n", network.Tot_data_sent,
              shared.Tot_data_sent, shared.Tot_retrans_pkt_cnt);
}

void limit_address_space(rlim_t kibibytes) {
  std::ifstream status("/proc/self/statm");
  rlim_t pages = 0;
  status >> pages;
  EXPECT(pages > 0);
  const rlim_t bytes = pages * static_cast<rlim_t>(getpagesize()) + (kibibytes << 10);
  const rlimit limits{bytes, bytes};
  EXPECT_EQUAL(setrlimit(RLIMIT_AS, &limits), 0);
}

unsigned long own_number() {
  const char* number = std::getenv("MP_CHILD");
  return number != nullptr ? std::stoul(number) : 0;
}

std::vector<lapi_udp_t> parse_list(std::string text) {
  setenv("API_UDP_LIST", text.c_str(), 1);
  return udp_list();
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  lapi_extend_t extension;
  std::memset(&extension, 0, sizeof extension);
  bool talks = true, brief = false, again = false, reopen = false, wrong_target = false;
  long room = -1;
  std::string adapter, linger;
  for (int index = 1; index < count; ++index) {
    const std::string word = arguments[index];
    const std::string value = word.substr(word.find('=') + 1);
    if (word.rfind("instance=", 0) == 0) info.instance_no = static_cast<uint>(std::stoul(value));
    if (word.rfind("adapter=", 0) == 0) adapter = value;
    if (word.rfind("list=", 0) == 0) addresses = parse_list(value);
    if (word.rfind("entries=", 0) == 0) extension.num_udp_addr = std::stoi(value);
    if (word.rfind("handler=", 0) == 0) {
      extension.udp_hndlr = udp_handler;
      handler_fails = value == "fail";
    }
    if (word.rfind("epoch=", 0) == 0) info.epoch_num = static_cast<uint>(std::stoul(value) + own_number());
    brief = brief || word == "brief";
    wrong_target = wrong_target || word == "wrong_target";
    talks = talks && word != "silent";
    if (word.rfind("room=", 0) == 0) room = std::stol(value);
    if (word.rfind("linger=", 0) == 0) linger = value;
    again = again || word == "again";
    reopen = reopen || word == "reopen";
    if (word == "undumpable") EXPECT_EQUAL(prctl(PR_SET_DUMPABLE, 0), 0);
  }
  limit(brief ? 250 : 60);
  if (!adapter.empty()) info.adapter_name = adapter.data();
  if (extension.udp_hndlr == nullptr) extension.add_udp_addrs = addresses.data();
  if (extension.udp_hndlr != nullptr || !addresses.empty()) info.add_info = &extension;
  if (room >= 0) limit_address_space(static_cast<rlim_t>(room));
  const int code = LAPI_Init(&handle, &info);
  std::printf("code %d\n", code);
  if (code != LAPI_SUCCESS) {
    std::fflush(stdout);
    while (!linger.empty() && access(linger.c_str(), F_OK) != 0) usleep(10'000);
    return 0;
  }
  std::printf("protocol %d\ninstance %u\n", info.protocol, info.instance_no);
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  print_queries();
  char byte = 0;
  if (wrong_target) {
    std::printf("wrong_target %d\n", LAPI_Put(handle, 99, 1, &byte, &byte, nullptr, nullptr, nullptr));
  }
  if (talks) talk(brief);
  std::printf("ready 1\n");
  std::fflush(stdout);
  if (again) {
    lapi_info_t second = cleared_info();
    std::printf("again %d\n", LAPI_Init(&handle, &second));
    return 0;
  }
  CALL(LAPI_Term(handle));
  std::printf("ended 1\n");
  if (reopen && task != 1) {
    lapi_info_t second = cleared_info();
    std::printf("again %d\n", LAPI_Init(&handle, &second));
  }
  return 0;
}
