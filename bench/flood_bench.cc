// What a stranger's datagrams cost a job over UDP: how many 8-byte puts two polling tasks of this machine exchange in a
// second, in turn alone and while a third process sends both of them junk of 64 bytes.
//   flood_bench [DATAGRAMS_PER_SECOND]     16240 when not given; 0: as fast as it can
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/lapi.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 21;
constexpr std::chrono::milliseconds kSlice{400};
constexpr double kFloodAtMost = 10;  // seconds: it is ended after a slice, but by nobody if the measuring task fails

std::array<lapi_udp_t, 2> find_ports() {
  std::array<lapi_udp_t, 2> places{};
  std::array<int, 2> sockets{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (bind(sockets[i], reinterpret_cast<sockaddr*>(&address), length) != 0) std::abort();
    getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &length);
    places[i] = {address.sin_addr.s_addr, ntohs(address.sin_port)};
  }
  for (const int descriptor : sockets) close(descriptor);
  return places;
}

void require(int code, const char* what) {
  if (code == LAPI_SUCCESS) return;
  std::fprintf(stderr, "flood_bench: %s: %d\n", what, code);
  std::_Exit(1);
}

struct Task {
  lapi_handle_t handle = 0;
  lapi_cntr_t arrived{};
  long long inbox = 0;
  void* inboxes[2] = {};
  void* counters[2] = {};

  void start(int self, std::array<lapi_udp_t, 2>& places) {
    setenv("MP_CHILD", std::to_string(self).c_str(), 1);
    lapi_extend_t where{};
    where.add_udp_addrs = places.data();
    where.num_udp_addr = static_cast<int>(places.size());
    lapi_info_t info{};
    info.add_info = &where;
    require(LAPI_Init(&handle, &info), "LAPI_Init");
    require(LAPI_Senv(handle, INTERRUPT_SET, 0), "LAPI_Senv");
    require(LAPI_Address_init(handle, &inbox, inboxes), "LAPI_Address_init");
    require(LAPI_Address_init(handle, &arrived, counters), "LAPI_Address_init");
  }
  void put(int other, long long value) {
    require(LAPI_Put(handle, static_cast<uint>(other), sizeof value, inboxes[other], &value,
                     static_cast<lapi_cntr_t*>(counters[other]), nullptr, nullptr),
            "LAPI_Put");
  }
  void wait() { require(LAPI_Waitcntr(handle, &arrived, 1, nullptr), "LAPI_Waitcntr"); }
};

// Puts a second there, and as many back.
double exchange(Task& task) {
  long long puts = 0;
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kSlice) {
    for (int i = 0; i < 100; ++i, ++puts) {
      task.put(1, 1);
      task.wait();
    }
  }
  return static_cast<double>(puts) / std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void serve(std::array<lapi_udp_t, 2>& places) {
  Task task;
  task.start(1, places);
  for (;;) {
    task.wait();
    if (task.inbox == 0) break;
    task.put(0, 1);
  }
  require(LAPI_Term(task.handle), "LAPI_Term");
  std::_Exit(0);
}

[[noreturn]] void flood(const std::array<lapi_udp_t, 2>& places, double per_second) {
  const int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::array<char, 64> junk{};
  junk.fill('x');
  const Clock::time_point begin = Clock::now();
  double seconds = 0;
  for (double sent = 0; seconds < kFloodAtMost; ++sent) {
    for (const lapi_udp_t& place : places) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = place.ip_addr;
      to.sin_port = htons(static_cast<std::uint16_t>(place.port_no));
      sendto(out, junk.data(), junk.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (per_second > 0 && sent > seconds * per_second) usleep(1000);
  }
  std::_Exit(0);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

}  // namespace

int main(int count, char** words) {
  const double per_second = count > 1 ? std::atof(words[1]) : 16240;
  setenv("MP_MSG_API", "lapi", 1);
  setenv("MP_PROCS", "2", 1);
  setenv("MP_PARTITION", std::to_string(getpid()).c_str(), 1);
  setenv("OPENLAPI_SECRET", "partition", 1);
  setenv("LAPI_USE_SHM", "no", 1);
  setenv("MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo", 1);
  std::array<lapi_udp_t, 2> places = find_ports();
  const pid_t server = fork();
  if (server == 0) serve(places);
  Task task;
  task.start(0, places);
  std::vector<double> rates[2], shares;
  for (int round = 0; round < kRounds; ++round) {
    const double alone = exchange(task);
    const pid_t stranger = fork();
    if (stranger == 0) flood(places, per_second);
    const double flooded = exchange(task);
    kill(stranger, SIGKILL);
    waitpid(stranger, nullptr, 0);
    rates[0].push_back(alone);
    rates[1].push_back(flooded);
    shares.push_back(flooded / alone);
  }
  std::printf("exchanges/s, medians of %d: alone %.0f, under the flood %.0f; share kept %.2f\n", kRounds,
              median(rates[0]), median(rates[1]), median(shares));
  task.put(1, 0);
  task.inbox = 0;
  require(LAPI_Term(task.handle), "LAPI_Term");
  waitpid(server, nullptr, 0);
  return 0;
}
