#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

using Kind = UdpSetupError::Kind;

in_addr parse(const char* text) {
  in_addr address{};
  inet_pton(AF_INET, text, &address);
  return address;
}

UdpConfig loopback(std::uint16_t port = 0, std::uint32_t packet_size = 0) {
  UdpConfig config;
  config.address = parse("127.0.0.1");
  config.port = port;
  config.packet_size = packet_size;
  return config;
}

// This process's descriptor of the socket that is bound to the port; -1: there is none among the first 1024.
int socket_on(std::uint16_t port) {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    const bool named = getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    if (named && address.sin_family == AF_INET && ntohs(address.sin_port) == port) return descriptor;
  }
  return -1;
}

std::uint32_t max_packet_for(std::uint32_t packet_size) {
  UdpSetupError error;
  const auto transport = open_udp_transport(loopback(0, packet_size), error);
  return transport ? transport->limits().max_packet : 0;
}

TEST(UdpSetup, TakesAnyPortOrTheOneGiven) {
  UdpSetupError error;
  const auto any = open_udp_transport(loopback(), error);
  ASSERT_TRUE(any) << error.text;
  EXPECT_EQ(error.kind, Kind::none);
  const std::uint16_t port = any->port();
  EXPECT_NE(port, 0);
  const PeerAddress address = any->local_address();
  const PeerAddress expected = make_udp_address(parse("127.0.0.1"), port);
  EXPECT_EQ(address.length, 6u);
  EXPECT_EQ(address.bytes, expected.bytes);
  EXPECT_EQ(std::to_integer<int>(address.bytes[0]), 127);
  EXPECT_EQ(std::to_integer<int>(address.bytes[4]), port >> 8);
}

TEST(UdpSetup, NamesAnAddressThatIsInUse) {
  UdpSetupError error;
  // An address that nobody else uses: the port that is given back is given to no other test before it is asked for.
  UdpConfig config = loopback();
  config.address = parse("127.77.1.2");
  auto first = open_udp_transport(config, error);
  ASSERT_TRUE(first) << error.text;
  config.port = first->port();
  EXPECT_FALSE(open_udp_transport(config, error));
  EXPECT_EQ(error.kind, Kind::address_in_use);
  EXPECT_NE(error.text.find("127.77.1.2:" + std::to_string(config.port)), std::string::npos) << error.text;
  first.reset();
  EXPECT_TRUE(open_udp_transport(config, error)) << error.text;
}

TEST(UdpSetup, NamesAnAddressThatIsNotOfThisMachine) {
  UdpConfig config = loopback();
  config.address = parse("240.0.0.77");
  UdpSetupError error;
  EXPECT_FALSE(open_udp_transport(config, error));
  EXPECT_EQ(error.kind, Kind::no_such_address);
  EXPECT_NE(error.text.find("240.0.0.77"), std::string::npos) << error.text;
  config.address = parse("0.0.0.0");
  EXPECT_FALSE(open_udp_transport(config, error));
  EXPECT_EQ(error.kind, Kind::no_such_address);
}

TEST(UdpSetup, NamesTheLimitOfOpenFiles) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    int last = -1;
    while (const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      if (opened < 0) break;
      last = opened;
    }
    UdpSetupError error;
    const bool none = !open_udp_transport(loopback(), error) && error.kind == Kind::too_many_files;
    const bool named = error.text.find(" 64 files (RLIMIT_NOFILE)") != std::string::npos;
    close(last);  // enough for one socket of the two
    const bool second = !open_udp_transport(loopback(), error) && error.kind == Kind::too_many_files;
    close(last - 1);  // and for both, but for nothing to sleep on
    const bool third = !open_udp_transport(loopback(), error) && error.kind == Kind::too_many_files;
    close(last - 2);
    const bool enough = open_udp_transport(loopback(), error) != nullptr;
    _exit(none && named && second && third && enough ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(UdpSetup, PacketSizesAreDatagramsOfAMultipleOfEight) {
  EXPECT_EQ(max_packet_for(0), 8960u);
  EXPECT_GE(max_packet_for(kSmallestUdpPacketSize), wire::kPacketHeaderSize + tuning::kSmallestRecord);
  EXPECT_EQ(max_packet_for(1024), 1016u);
  EXPECT_EQ(max_packet_for(1500), 1488u);
  EXPECT_EQ(max_packet_for(65507), 65496u);
  EXPECT_EQ(max_packet_for(65536), 65496u);
  UdpSetupError error;
  EXPECT_FALSE(open_udp_transport(loopback(0, 100), error));
  EXPECT_EQ(error.kind, Kind::bad_packet_size);
  EXPECT_NE(error.text.find("100"), std::string::npos) << error.text;
}

TEST(UdpSetup, SocketsAreClosedOnExecAndDoNotBlock) {
  UdpSetupError error;
  const auto transport = open_udp_transport(loopback(), error);
  ASSERT_TRUE(transport) << error.text;
  EXPECT_TRUE(fcntl(transport->capabilities().wake_source->descriptor(), F_GETFD) & FD_CLOEXEC);
  const int socket = socket_on(transport->port());
  ASSERT_GE(socket, 0);
  EXPECT_TRUE(fcntl(socket, F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(fcntl(socket, F_GETFL) & O_NONBLOCK);
}

TEST(UdpSetup, RefusesAddressesThatAreNoTasks) {
  UdpSetupError error;
  const auto transport = open_udp_transport(loopback(), error);
  ASSERT_TRUE(transport) << error.text;
  std::string reason;
  EXPECT_FALSE(transport->add_peer(1, {}, reason));
  for (const PeerAddress& bad : {make_udp_address(parse("127.0.0.1"), 0), make_udp_address(parse("0.0.0.0"), 5000),
                                 make_udp_address(parse("224.0.0.1"), 5000),
                                 make_udp_address(parse("255.255.255.255"), 5000)}) {
    reason.clear();
    EXPECT_FALSE(transport->add_peer(1, bad, reason));
    EXPECT_FALSE(reason.empty());
  }
  EXPECT_TRUE(transport->add_peer(1, make_udp_address(parse("127.0.0.1"), 5000), reason)) << reason;
}

TEST(UdpSetup, OffloadIsOffWhenAskedFor) {
  UdpConfig config = loopback();
  config.offload = false;
  UdpSetupError error;
  const auto transport = open_udp_transport(config, error);
  ASSERT_TRUE(transport) << error.text;
  EXPECT_FALSE(transport->segments());
  EXPECT_FALSE(transport->coalesces());
}

TEST(UdpAdapters, ListsLoopback) {
  const std::vector<LocalAdapter> adapters = list_adapters();
  const auto found = std::find_if(adapters.begin(), adapters.end(), [](const LocalAdapter& adapter) {
    return adapter.address.s_addr == htonl(INADDR_LOOPBACK);
  });
  ASSERT_NE(found, adapters.end());
  EXPECT_EQ(found->name, "lo");
  EXPECT_TRUE(found->up);
  EXPECT_GE(found->mtu, 1500u);
  EXPECT_EQ(mtu_of_local_address(found->address), found->mtu);
  EXPECT_EQ(mtu_of_local_address(parse("127.9.9.9")), found->mtu);
  EXPECT_EQ(mtu_of_local_address(parse("240.0.0.77")), 0u);
  EXPECT_EQ(to_text(parse("10.1.2.3")), "10.1.2.3");
}

}  // namespace
}  // namespace openlapi
