#include "tests/beds/verbs_bed.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "dataplane/base/check.h"

namespace openlapi::test {
namespace {

constexpr uid_t kOrdinaryUser = 65534;

}  // namespace

void command(const std::string& words) { ASSERT_EQ(std::system(words.c_str()), 0) << words; }

long read_number(const std::string& path) {
  long number = -1;
  std::ifstream(path) >> number;
  return number;
}

bool wait_for_port(const char* device, const char* state) {
  return wait_for([&] {
    std::string number, word;
    std::ifstream(std::string("/sys/class/infiniband/") + device + "/ports/1/state") >> number >> word;
    return word == state;
  });
}

VerbsPointer open_on(const char* device, VerbsSetupError& error, std::uint32_t mtu) {
  VerbsConfig config;
  config.port.device = device;
  config.mtu = mtu;
  config.bulk = bed_has_bulk;
  config.connections = bed_connects_after != 0;
  config.connection_limits = {.connections = bed_connections, .packets_before_asking = bed_connects_after};
  if (bed_changes) bed_changes(config);
  return open_verbs_transport(config, error);
}

VerbsPointer open_well(const char* device, std::uint32_t mtu) {
  VerbsSetupError error;
  VerbsPointer transport = open_on(device, error, mtu);
  EXPECT_NE(transport, nullptr) << error.text;
  return transport;
}

VerbsPair::VerbsPair(std::uint32_t left_mtu, std::uint32_t right_mtu)
    : left(open_well("rxe0", left_mtu)), right(open_well("rxe1", right_mtu)) {
  OPENLAPI_CHECK(left && right);
  std::string error;
  EXPECT_TRUE(added(*left, 1, right->local_address(), error)) << error;
  EXPECT_TRUE(added(*right, 0, left->local_address(), error)) << error;
}

std::size_t send_number(VerbsTransport& from, PeerIndex to, std::uint64_t number, std::size_t length) {
  std::vector<std::byte> bytes(length);
  std::memcpy(bytes.data(), &number, sizeof number);
  const ConstBuffer piece{bytes.data(), length};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(length)};
  return from.send_burst(to, {&packet, 1});
}

std::uint64_t receive_number(VerbsTransport& at, unsigned seconds) {
  IncomingPacket packet{};
  if (!wait_for([&] { return at.receive_burst({&packet, 1}) == 1; }, seconds)) return 0;
  std::uint64_t number = 0;
  std::memcpy(&number, packet.data, sizeof number);
  at.release(1);
  return number;
}

std::size_t empty(VerbsTransport& at) {
  std::size_t taken = 0;
  IncomingPacket packets[16];
  while (const std::size_t count = at.receive_burst(packets)) {
    at.release(count);
    taken += count;
  }
  return taken;
}

bool gets_through(VerbsTransport& from, PeerIndex to, VerbsTransport& at, std::uint64_t number) {
  return wait_for(
      [&] {
        send_number(from, to, number);
        IncomingPacket packet{};
        for (int i = 0; i < 1000; ++i) {
          from.receive_burst({});
          if (at.receive_burst({&packet, 1}) == 0) continue;
          std::uint64_t arrived = 0;
          std::memcpy(&arrived, packet.data, sizeof arrived);
          at.release(1);
          if (arrived == number) return true;
        }
        return false;
      },
      20);
}

void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

void become_ordinary_user() {
  ASSERT_EQ(setgroups(0, nullptr), 0);
  ASSERT_EQ(setresgid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser), 0);
  ASSERT_EQ(setresuid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser), 0);
}

}  // namespace openlapi::test
