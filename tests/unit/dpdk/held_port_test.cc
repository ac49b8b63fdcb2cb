#include "nic/dpdk/held_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>

namespace openlapi::dpdk {
namespace {

TEST(HeldPort, IsNobodyElses) {
  std::array<HeldPort, 200> held;
  std::set<std::uint16_t> ports;
  for (HeldPort& one : held) ports.insert(one.take());
  EXPECT_EQ(ports.size(), held.size());
  EXPECT_FALSE(ports.contains(0));
  for (const in_addr_t address : {INADDR_LOOPBACK, INADDR_ANY}) {
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in wanted{};
    wanted.sin_family = AF_INET;
    wanted.sin_addr.s_addr = htonl(address);
    wanted.sin_port = htons(*ports.begin());
    EXPECT_NE(bind(other, reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted), 0);
    EXPECT_EQ(errno, EADDRINUSE);
    close(other);
  }
}

}  // namespace
}  // namespace openlapi::dpdk
