// What the calls of chapter 19 and LAPI_Util refuse, and what they change of counters.
//
//   lapirun -n N api_recovery_errors [interrupt|polling]
#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

std::atomic<int> handler_codes{0};  // how many calls a header handler has seen refused

void* calling_handler(lapi_handle_t* which, void*, uint*, ulong*, compl_hndlr_t** completion_handler, void**) {
  lapi_cntr_t counter{};
  const int codes[] = {LAPI_Purge_totask(*which, right()), LAPI_Resume_totask(*which, right()),
                       LAPI_Nopoll_wait(*which, &counter, 1, nullptr)};
  for (const int code : codes) handler_codes += code == EDEADLK;
  *completion_handler = nullptr;
  return nullptr;
}

lapi_util_t port_command(unsigned target, lapi_udp_t* where) {
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Udp.Util_type = LAPI_ADD_UDP_DEST_PORT;
  command.Udp.tgt = target;
  command.Udp.udp_port = where;
  return command;
}

// No error and no effect: what goes to oneself arrives before, between and after.
void recover_oneself() {
  static long long source = 1, target = 0;
  lapi_cntr_t arrived{};
  const auto put = [&](long long value) {
    source = value;
    CALL(LAPI_Put(handle, static_cast<uint>(task), sizeof source, &target, &source, &arrived, nullptr, nullptr));
    CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
    EXPECT_EQUAL(target, value);
  };
  put(1);
  CALL(LAPI_Purge_totask(handle, static_cast<uint>(task)));
  put(2);
  CALL(LAPI_Fence(handle));
  CALL(LAPI_Resume_totask(handle, static_cast<uint>(task)));
  CALL(LAPI_Resume_totask(handle, static_cast<uint>(task)));
  put(3);
}

void refuse_arguments() {
  lapi_cntr_t counter{};
  uint list[1] = {right()};
  int status[1] = {-1};
  RETURNS(LAPI_Purge_totask(handle, static_cast<uint>(tasks)), LAPI_ERR_TGT);
  RETURNS(LAPI_Resume_totask(handle, static_cast<uint>(tasks)), LAPI_ERR_TGT);
  CALL(LAPI_Resume_totask(handle, right()));  // what is not purged stays as it is
  RETURNS(LAPI_Nopoll_wait(handle, nullptr, 1, nullptr), LAPI_ERR_CNTR_NULL);
  RETURNS(LAPI_Nopoll_wait(handle, &counter, 0, nullptr), LAPI_ERR_CNTR_VAL);
  RETURNS(LAPI_Nopoll_wait(handle, &counter, -1, nullptr), LAPI_ERR_CNTR_VAL);
  RETURNS(LAPI_Setcntr_wstatus(handle, nullptr, 1, list, status), LAPI_ERR_CNTR_NULL);
  RETURNS(LAPI_Setcntr_wstatus(handle, &counter, 1, list, nullptr), LAPI_ERR_RET_PTR_NULL);
  CALL(LAPI_Setcntr_wstatus(handle, &counter, 1, nullptr, nullptr));
  RETURNS(LAPI_Util(handle, nullptr), LAPI_ERR_UTIL_CMD);
  lapi_udp_t where{inet_addr("127.0.0.1"), 20000};
  lapi_util_t command = port_command(right(), nullptr);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UDP_PORT_INFO);
  command = port_command(static_cast<uint>(tasks), &where);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_TGT);
  command = port_command(static_cast<uint>(task), &where);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_TGT);
  command.Util_type = static_cast<lapi_util_type_t>(77);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UTIL_CMD);
}

// Without a launcher the ports themselves are looked at; under one they cannot be changed.
void add_ports() {
  const bool by_hand = std::getenv("API_UDP_LIST") != nullptr;
  const std::vector<lapi_udp_t> list = udp_list();
  lapi_udp_t where = by_hand ? list[right()] : lapi_udp_t{inet_addr("127.0.0.1"), 20000};
  lapi_util_t command = port_command(right(), &where);
  RETURNS(LAPI_Util(handle, &command), by_hand ? LAPI_SUCCESS : LAPI_ERR_UTIL_CMD);
  if (!by_hand) return;
  for (const unsigned port : {0u, 65536u}) {
    where.port_no = port;
    RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UDP_PORT_INFO);
  }
  where = {0, 20000};
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UDP_PORT_INFO);
  where = list[right()];
  command.Udp.instance_no = 1;
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UDP_PORT_INFO);
}

void refuse_handles() {
  lapi_cntr_t counter{};
  uint list[1] = {0};
  int status[1];
  const lapi_handle_t wrong = handle + 16;
  lapi_udp_t where{inet_addr("127.0.0.1"), 20000};
  lapi_util_t command = port_command(right(), &where);
  RETURNS(LAPI_Purge_totask(wrong, right()), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Resume_totask(wrong, right()), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Nopoll_wait(wrong, &counter, 1, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Setcntr_wstatus(wrong, &counter, 1, list, status), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Util(wrong, &command), LAPI_ERR_HNDL_INVALID);
}

void wait_without_polling() {
  static lapi_cntr_t counter;
  const std::vector<lapi_cntr_t*> counters = exchange(&counter);
  uint list[2] = {static_cast<uint>(left()), static_cast<uint>(left())};
  int status[2] = {-1, -1};
  CALL(LAPI_Setcntr_wstatus(handle, &counter, 2, list, status));
  EXPECT_EQUAL(status[0], LAPI_MSG_INITIAL);
  CALL(LAPI_Gfence(handle));
  for (int n = 0; n < 2; ++n) CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, counters[right()], nullptr, nullptr));
  int rest = -1;
  CALL(LAPI_Nopoll_wait(handle, &counter, 2, &rest));
  EXPECT_EQUAL(rest, 0);
  EXPECT_EQUAL(status[0], LAPI_MSG_RECVD);
  EXPECT_EQUAL(status[1], LAPI_MSG_RECVD);
}

void one_waiter_for_a_counter() {
  static lapi_cntr_t counter;
  CALL(LAPI_Setcntr(handle, &counter, 0));
  std::atomic<int> code{-1};
  std::thread waiter([&] { code = LAPI_Nopoll_wait(handle, &counter, 1, nullptr); });
  // Whoever comes second is refused at once; the one who waits is not disturbed.
  int other = LAPI_SUCCESS;
  lapi_cntr_t probe{};
  AWAIT((CALL(LAPI_Setcntr(handle, &probe, 1)), CALL(LAPI_Nopoll_wait(handle, &probe, 1, nullptr)), true), 5);
  std::thread second([&] { other = LAPI_Nopoll_wait(handle, &counter, 1, nullptr); });
  AWAIT(code != -1 || other != LAPI_SUCCESS, 20);
  EXPECT_EQUAL(code == -1 ? other : code.load(), LAPI_ERR_MULTIPLE_WAITERS);
  CALL(LAPI_Setcntr(handle, &counter, 1));
  waiter.join();
  second.join();
  EXPECT_EQUAL(code == LAPI_ERR_MULTIPLE_WAITERS ? other : code.load(), LAPI_SUCCESS);
}

void refuse_in_handlers() {
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(calling_handler), 9));
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(9), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(handler_codes, 3);
}

// The first library of the guide has no such counters.
void refuse_without_library() {
  lapi_info_t info = cleared_info();
  lapi_handle_t plain = 0;
  std::vector<lapi_udp_t> list = udp_list();
  if (!list.empty()) return;  // its ports are taken
  CALL(LAPI_Init(&plain, &info));
  lapi_cntr_t counter{};
  RETURNS(LAPI_Nopoll_wait(plain, &counter, 1, nullptr), EPERM);
  RETURNS(LAPI_Setcntr_wstatus(plain, &counter, 0, nullptr, nullptr), EPERM);
  CALL(LAPI_Gfence(plain));
  CALL(LAPI_Term(plain));
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.lib_vers = L2_LIB;
  begin(count, arguments, info);
  run("recovery calls refuse wrong arguments", 20, refuse_arguments);
  run("purge and resume of oneself change nothing", 20, recover_oneself);
  run("recovery calls refuse wrong handles", 20, refuse_handles);
  run("UDP ports are added without a launcher only", 20, add_ports);
  run("LAPI_Nopoll_wait keeps the statuses", 20, wait_without_polling);
  run("LAPI_Nopoll_wait has one waiter for a counter", 30, one_waiter_for_a_counter);
  run("handlers may not call what purges or waits", 20, refuse_in_handlers);
  run("L1_LIB has no statuses", 20, refuse_without_library);
  return finish();
}
