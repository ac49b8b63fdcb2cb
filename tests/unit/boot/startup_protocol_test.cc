// The startup protocol between processes, over loopback sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/boot/startup/startup_messages.h"
#include "control/boot/startup/startup_socket.h"

namespace openlapi::boot {
namespace {

constexpr int kDaemons = 3;

// A daemon in a process of its own: reads the key from a pipe, reports, waits for the universe; its exit status says
// how far it came.
pid_t start_daemon(int port, int node, bool right_key = true) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  if (right_key) {
    EXPECT_EQ(lam_ssi_boot_base_write_key(ends[1]), 0);
  } else {
    EXPECT_EQ(write(ends[1], std::string(32, 'x').data(), 32), 32);
  }
  const pid_t child = fork();
  if (child != 0) {
    close(ends[0]);
    close(ends[1]);
    return child;
  }
  lam_ssi_boot_base_close_srv_connection();
  OPT* options = ao_init();
  for (const char* option : {"H", "P", "n"}) ao_setopt(options, option, nullptr, 1, 0);
  std::string words[] = {"lamd", "-H", "127.0.0.1", "-P", std::to_string(port), "-n", std::to_string(node)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  if (ao_parse(options, &argc, argv.data()) != 0 || lam_ssi_boot_base_get_nodeid(options) != node) _exit(1);
  if (lam_ssi_boot_base_read_key(ends[0]) != 0) _exit(2);
  if (lam_ssi_boot_base_send_lamd_info(options, 5000 + node) != 0) _exit(3);
  lamnode* universe = nullptr;
  int count = 0;
  if (lam_ssi_boot_base_receive_universe_info(&universe, &count) != 0) _exit(4);
  bool good = count == kDaemons;
  for (int n = 0; good && n < count; ++n) {
    good = universe[n].lnd_nodeid == n && ntohs(universe[n].lnd_addr.sin_port) == 5000 + n &&
           universe[n].lnd_hname == "host" + std::to_string(n);
  }
  _exit(good ? 0 : 5);
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int connect_from(const char* source, int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, source, &address.sin_addr);
  EXPECT_EQ(bind(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address);
  return client;
}

class StartupProtocol : public testing::Test {
 protected:
  StartupProtocol() {
    for (int n = 0; n < kDaemons; ++n) {
      names_.push_back("host" + std::to_string(n));
      nodes_[n].lnd_nodeid = n;
      nodes_[n].lnd_type = NT_BOOT;
      nodes_[n].lnd_addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    for (int n = 0; n < kDaemons; ++n) nodes_[n].lnd_hname = names_[static_cast<std::size_t>(n)].data();
    EXPECT_EQ(lam_ssi_boot_base_open_srv_connection(nodes_, kDaemons), 0);
    port_ = lam_ssi_boot_base_server_port;
  }
  ~StartupProtocol() override { lam_ssi_boot_base_close_srv_connection(); }

  // All daemons report and are told.
  void boot_all() {
    std::vector<pid_t> daemons;
    for (int n = 0; n < kDaemons; ++n) daemons.push_back(start_daemon(port_, n));
    for (int n = 0; n < kDaemons; ++n) ASSERT_EQ(lam_ssi_boot_base_receive_lamd_info(nodes_, kDaemons), 0);
    for (int n = 0; n < kDaemons; ++n) EXPECT_EQ(ntohs(nodes_[n].lnd_addr.sin_port), 5000 + n);
    for (int n = 0; n < kDaemons; ++n) EXPECT_EQ(lam_ssi_boot_base_send_universe_info(nodes_, kDaemons, n), 0);
    for (const pid_t daemon : daemons) EXPECT_EQ(status_of(daemon), 0);
  }

  std::vector<std::string> names_{};
  lamnode nodes_[kDaemons]{};
  int port_ = 0;
};

TEST_F(StartupProtocol, TellsEveryDaemonTheUniverse) {
  boot_all();
  EXPECT_EQ(lam_ssi_boot_base_close_srv_connection(), 0);
  EXPECT_EQ(lam_ssi_boot_base_server_port, 0);
}

// Garbage, silence, half a message and a stranger's address, all waiting before the daemons come.
TEST_F(StartupProtocol, OthersKeepNobodyWaiting) {
  std::vector<int> clients;
  for (int n = 0; n < 20; ++n) clients.push_back(connect_from("127.0.0.1", port_));
  EXPECT_EQ(send(clients[0], "GET / HTTP/1.0\r\nHost: a\r\nUser-Agent: garbage garbage\r\n\r\n", 56, MSG_NOSIGNAL), 56);
  EXPECT_EQ(send(clients[1], "LAMS\1\1\0\0half", 12, MSG_NOSIGNAL), 12);
  close(clients[2]);
  clients[2] = connect_from("127.0.0.2", port_);
  testing::internal::CaptureStderr();
  boot_all();
  EXPECT_EQ(lam_ssi_boot_close(), 0);
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_NE(errors.find(std::string(program_invocation_short_name) + ": a connection from 127.0.0."), std::string::npos)
      << errors;
  for (const int client : clients) close(client);
}

// However many they are, from however many addresses: one line, with their number.
TEST_F(StartupProtocol, StrangersAreToldInOneLine) {
  std::vector<int> clients;
  for (int n = 1; n <= 60; ++n) clients.push_back(connect_from(("127.0.1." + std::to_string(n)).c_str(), port_));
  clients.push_back(connect_from("127.0.1.1", port_));
  testing::internal::CaptureStderr();
  boot_all();
  EXPECT_EQ(lam_ssi_boot_close(), 0);
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  EXPECT_NE(errors.find(": a connection from 127.0.1.1:"), std::string::npos) << errors;
  EXPECT_NE(errors.find(" to the startup protocol was dropped: it is not in the node list; so were "),
            std::string::npos) << errors;
  EXPECT_NE(errors.find(" addresses in all\n"), std::string::npos) << errors;
  for (const int client : clients) close(client);
}

TEST_F(StartupProtocol, ADaemonWithAnotherKeyIsRefusedAndKnowsIt) {
  testing::internal::CaptureStderr();
  const pid_t bad = start_daemon(port_, 0, false);
  boot_all();
  // It may come only now: nobody serves it, nobody must keep it waiting either.
  EXPECT_EQ(lam_ssi_boot_base_close_srv_connection(), 0);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status_of(bad), 3);
}

TEST_F(StartupProtocol, ANodeThatIsNotAwaitedIsRefused) {
  testing::internal::CaptureStderr();
  const pid_t bad = start_daemon(port_, 7);
  boot_all();
  // It may come only now: nobody serves it, nobody must keep it waiting either.
  EXPECT_EQ(lam_ssi_boot_base_close_srv_connection(), 0);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status_of(bad), 3);
}

// Strangers at the address of the daemons fill the queue before they come, and come again and again, talk, and are
// silent.
TEST_F(StartupProtocol, AFloodFromTheDaemonsAddressKeepsNoDaemonOut) {
  testing::internal::CaptureStderr();
  std::atomic<int> connected = 0;
  std::jthread flood([&](const std::stop_token& stop) {
    std::vector<FileDescriptor> strangers(400);
    for (std::size_t n = 0; !stop.stop_requested(); ++n) {
      FileDescriptor& stranger = strangers[n % strangers.size()];
      stranger.reset();
      stranger.reset(connect_from("127.0.0.1", port_));
      ++connected;
      if (n % 7 == 0) send(stranger.get(), "LAMS\1\1\0\0, and then no nonce", 24, MSG_NOSIGNAL);
    }
  });
  while (connected < 100) std::this_thread::yield();
  boot_all();
  flood.request_stop();
  EXPECT_EQ(lam_ssi_boot_base_close_srv_connection(), 0);  // who waits for it is refused
  EXPECT_EQ(lam_ssi_boot_close(), 0);
  flood.join();
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::ranges::count(errors, '\n'), 1) << errors;  // none where the daemons came before the places were full
}

// Ends a server's wait when a condition is true, which is looked at all the time.
class Until final : public StartupInterruption {
 public:
  explicit Until(std::function<bool()> condition) : condition_(std::move(condition)) {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    close(ends_[1]);  // so that the other can be read, always
  }
  ~Until() override { close(ends_[0]); }
  void watch(std::vector<pollfd>& watched) override { watched.push_back({ends_[0], POLLIN, 0}); }
  bool is_over() override { return condition_(); }

 private:
  std::function<bool()> condition_;
  int ends_[2]{};
};

bool is_closed(int socket) {
  char bytes[64];
  ssize_t count = 1;
  while (count > 0) count = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  return count == 0 || errno != EAGAIN;
}

TEST(StartupSocket, TheOldestOfTheAddressWithTheMostGoes) {
  testing::internal::CaptureStderr();
  constexpr std::size_t kMany = 300, kFew = 10, kPlaces = 256;
  StartupServer server(htonl(INADDR_LOOPBACK), 1024, StartupKey{}, StartupKind::kUniverse, 100);
  std::vector<FileDescriptor> few, many;
  for (std::size_t n = 0; n < kFew; ++n) few.emplace_back(connect_from("127.0.0.2", server.port()));
  for (std::size_t n = 0; n < kMany; ++n) many.emplace_back(connect_from("127.0.0.1", server.port()));
  constexpr std::size_t kGone = kMany + kFew - kPlaces;
  Until all_are_accepted([&] { return is_closed(many[kGone - 1].get()); });
  EXPECT_FALSE(server.receive(
      std::chrono::steady_clock::now() + std::chrono::seconds(60), [](const auto&) { return true; },
      [](const auto&, const auto&) { return true; }, &all_are_accepted));
  for (std::size_t n = 0; n < kMany; ++n) EXPECT_EQ(is_closed(many[n].get()), n < kGone) << n;
  for (const FileDescriptor& one : few) EXPECT_FALSE(is_closed(one.get()));
  testing::internal::GetCapturedStderr();
}

// A lamd that waits for the universe takes no more than a proof from a stranger who cannot give one, whatever he
// announces.
TEST(StartupSocket, AStrangerIsHeardForSixtyBytes) {
  report_dropped_connections();  // of tests before
  testing::internal::CaptureStderr();
  StartupServer server(htonl(INADDR_LOOPBACK), 5, StartupKey{1}, StartupKind::kUniverse, kLongestUniverse);
  const FileDescriptor stranger(connect_from("127.0.0.1", server.port()));
  StartupExchange other_key(StartupKey{2}, StartupKind::kUniverse, StartupBytes(1000));
  StartupBytes said = other_key.outgoing();
  said.resize(sealing::kBytesBeforeProof, 0xff);
  ASSERT_EQ(send(stranger.get(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
  Until dropped([&] { return is_closed(stranger.get()); });
  EXPECT_FALSE(server.receive(
      std::chrono::steady_clock::now() + std::chrono::seconds(60), [](const auto&) { return true; },
      [](const auto&, const auto&) { return true; }, &dropped));
  EXPECT_TRUE(is_closed(stranger.get()));
  report_dropped_connections();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has another key"), std::string::npos);
}

// Byte after byte, for ever: the time until the proof does not grow with them.
TEST(StartupSocket, WhoTalksSlowlyHasNoMoreTime) {
  report_dropped_connections();  // of tests before
  testing::internal::CaptureStderr();
  StartupServer server(htonl(INADDR_LOOPBACK), 5, StartupKey{1}, StartupKind::kUniverse, 100);
  const FileDescriptor stranger(connect_from("127.0.0.1", server.port()));
  const auto begin = std::chrono::steady_clock::now();
  auto last = begin;
  const char hello[] = "LAMS\1\2\0";
  std::size_t said = 0;
  Until dropped([&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - last >= std::chrono::seconds(2) && said < sizeof hello) {
      last = now;
      send(stranger.get(), hello + said++, 1, MSG_NOSIGNAL);
    }
    return is_closed(stranger.get());
  });
  EXPECT_FALSE(server.receive(
      begin + std::chrono::seconds(60), [](const auto&) { return true; }, [](const auto&, const auto&) { return true; },
      &dropped));
  EXPECT_GE(said, 2u);
  EXPECT_TRUE(is_closed(stranger.get()));
  report_dropped_connections();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("it did not prove in time that it has the key"),
            std::string::npos);
}

// The ports from which somebody knocks at this one now: lines of "sl local remote state" with hexadecimal numbers.
std::set<std::string> knocking_at(int port) {
  constexpr char kSynSent[] = "02";
  std::ifstream table("/proc/net/tcp");
  std::set<std::string> ports;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state;
    fields >> number >> local >> remote >> state;
    const std::size_t colon = remote.find(':');
    if (state == kSynSent && colon != std::string::npos && std::stoi(remote.substr(colon + 1), nullptr, 16) == port)
      ports.insert(local);
  }
  return ports;
}

// Strangers fill the queue of an agent that accepts nobody for seconds: a daemon that comes meanwhile knocks again
// within a second, however long it lasts, so that he is not late when there is room.
TEST(StartupSocket, KnocksAtAFullQueueAtLeastOnceASecond) {
  constexpr std::chrono::seconds kFull{6}, kMostBetween{2};  // half of it: a busy machine
  StartupServer server(htonl(INADDR_LOOPBACK), 0, StartupKey{}, StartupKind::kUniverse, 100);
  const FileDescriptor stranger(connect_from("127.0.0.1", server.port()));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  const auto begin = std::chrono::steady_clock::now();
  std::jthread daemon([&] {
    EXPECT_THROW(send_startup_message(to, StartupKey{}, StartupKind::kUniverse, begin + kFull, nullptr,
                                      [] { return StartupBytes{}; }),
                 std::exception);
  });
  std::set<std::string> seen;
  auto last_new = begin, now = begin;
  std::chrono::steady_clock::duration longest{};
  for (; now < begin + kFull - std::chrono::milliseconds(100); now = std::chrono::steady_clock::now()) {
    for (const std::string& port : knocking_at(server.port())) {
      if (seen.insert(port).second) last_new = now;
    }
    longest = std::max(longest, now - last_new);
    poll(nullptr, 0, 5);
  }
  EXPECT_GE(seen.size(), 6u);
  EXPECT_LT(longest, kMostBetween);
}

TEST(StartupSocket, SaysWhatIsNotThereAndGivesUpInTime) {
  StartupServer server(htonl(INADDR_LOOPBACK), 5, StartupKey{}, StartupKind::kUniverse, 100);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(server.receive(
      now, [](const auto&) { return true; }, [](const auto&, const auto&) { return true; }));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  const auto send = [&] {
    send_startup_message(to, StartupKey{}, StartupKind::kUniverse, now, nullptr, [] { return StartupBytes{}; });
  };
  EXPECT_THROW(send(), std::exception);
}

TEST(StartupKeyFile, IsReadOnlyIfItIsPrivate) {
  std::string path = testing::TempDir() + "openlapi-key-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_EQ(lam_ssi_boot_base_write_key(fd), 0);
  lseek(fd, 0, SEEK_SET);
  EXPECT_EQ(lam_ssi_boot_base_read_key(fd), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_read_key(fd), LAMERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) +
                ": the key has 0 bytes; allowed: 32. A remote shell's agent must let it pass: ssh -n "
                "does not\n");
  lseek(fd, 0, SEEK_SET);
  fchmod(fd, 0640);
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_read_key(fd), LAMERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) +
                ": the file with the key is readable by others, or not this user's; allowed: mode 0600, own\n");
  close(fd);
  unlink(path.c_str());
}

}  // namespace
}  // namespace openlapi::boot
