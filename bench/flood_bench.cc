// What a stranger's datagrams cost a job over UDP: how many 8-byte puts two polling tasks of this machine exchange in a
// second, in turn alone and while a third process sends both of them junk, a kind after the other:
//   bytes   64 of them that begin as no frame does: the kernel drops them
//   cut     64 bytes that begin a frame which is longer: read, and dropped by the transport
//   forged  64 bytes, a frame with a packet of the other task, but for the association: dropped by the engine
//   full    the longest datagram, of as many such packets as it holds
//   flood_bench [DATAGRAMS_PER_SECOND [KIND...]]     16240, to each task, and all kinds when not given; 0: as fast as
//   it
//                                                    can
// With OPENLAPI_PACKET_AUTH=yes the tasks' packets carry tags.
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "api/include/lapi.h"
#include "dataplane/wire/packet_header.h"
#include "nic/udp/datagram_frame.h"

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;
constexpr int kRounds = 21;
constexpr std::string_view kKinds[] = {"bytes", "cut", "forged", "full"};
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

// A frame with a packet of `length` bytes that says it is from task `source`.
Bytes forged_frame(std::uint32_t source, std::size_t length) {
  Bytes frame(openlapi::udp::frame_size(length));
  const auto begin = openlapi::udp::make_frame_header(static_cast<std::uint32_t>(length));
  std::memcpy(frame.data(), &begin, sizeof begin);
  openlapi::wire::PacketHeader header;
  header.flags = openlapi::wire::kPacketShort | openlapi::wire::kPacketHasData;
  header.source = source;
  header.association = 0x123456789abcdef;
  openlapi::wire::encode(header, frame.data() + sizeof begin);
  return frame;
}

Bytes junk_of(std::string_view kind, std::uint32_t source) {
  if (kind == "bytes") return Bytes(64, std::byte{'x'});
  if (kind == "forged") return forged_frame(source, 56);
  if (kind == "cut") {
    Bytes junk = forged_frame(source, 1000);
    junk.resize(64);
    return junk;
  }
  const Bytes frame = forged_frame(source, openlapi::wire::kShortHeaderSize);
  Bytes junk;
  while (junk.size() + frame.size() <= openlapi::udp::kLongestDatagram)
    junk.insert(junk.end(), frame.begin(), frame.end());
  return junk;
}

// Counts in `sent` what it has sent to each task.
[[noreturn]] void flood(const std::array<lapi_udp_t, 2>& places, std::string_view kind, double per_second,
                        std::atomic<long>& sent) {
  const int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::array<Bytes, 2> junk{junk_of(kind, 1), junk_of(kind, 0)};
  const Clock::time_point begin = Clock::now();
  double seconds = 0;
  for (sent = 0; seconds < kFloodAtMost; ++sent) {
    for (std::size_t task = 0; task < places.size(); ++task) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = places[task].ip_addr;
      to.sin_port = htons(static_cast<std::uint16_t>(places[task].port_no));
      sendto(out, junk[task].data(), junk[task].size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (per_second > 0 && static_cast<double>(sent) > seconds * per_second) usleep(1000);
  }
  std::_Exit(0);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

void measure(Task& task, const std::array<lapi_udp_t, 2>& places, std::string_view kind, double per_second) {
  static auto& sent = *static_cast<std::atomic<long>*>(
      mmap(nullptr, sizeof(std::atomic<long>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<double> rates[2], shares, floods;
  for (int round = 0; round < kRounds; ++round) {
    const double alone = exchange(task);
    const pid_t stranger = fork();
    if (stranger == 0) flood(places, kind, per_second, sent);
    const double flooded = exchange(task);
    kill(stranger, SIGKILL);
    waitpid(stranger, nullptr, 0);
    floods.push_back(static_cast<double>(sent) / std::chrono::duration<double>(kSlice).count());
    rates[0].push_back(alone);
    rates[1].push_back(flooded);
    shares.push_back(flooded / alone);
  }
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  std::printf(
      "%-6.*s exchanges/s, medians of %d: alone %.0f, under %.0f datagrams/s %.0f; share kept %.2f (%.2f to %.2f)\n",
      static_cast<int>(kind.size()), kind.data(), kRounds, median(rates[0]), median(floods), median(rates[1]),
      median(shares), *least, *most);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  const double per_second = count > 1 ? std::atof(words[1]) : 16240;
  std::vector<std::string_view> kinds(words + std::min(count, 2), words + count);
  if (kinds.empty()) kinds.assign(std::begin(kKinds), std::end(kKinds));
  for (const std::string_view kind : kinds) {
    if (std::count(std::begin(kKinds), std::end(kKinds), kind) != 0) continue;
    std::fprintf(stderr, "flood_bench: there is no junk '%s'\n", kind.data());
    return 2;
  }
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
  for (const std::string_view kind : kinds) measure(task, places, kind, per_second);
  task.put(1, 0);
  task.inbox = 0;
  require(LAPI_Term(task.handle), "LAPI_Term");
  waitpid(server, nullptr, 0);
  return 0;
}
