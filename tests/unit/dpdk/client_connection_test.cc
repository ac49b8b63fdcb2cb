// Which connection a memif client has made, and when it has ended, with sockets as the driver makes them.
#include "nic/dpdk/client_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace openlapi::dpdk {
namespace {

class ClientConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    address_.sun_family = AF_UNIX;
    server_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    // The kernel gives it a name that nobody has.
    ASSERT_EQ(bind(server_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_.sun_family), 0);
    length_ = sizeof address_;
    ASSERT_EQ(getsockname(server_, reinterpret_cast<sockaddr*>(&address_), &length_), 0);
    ASSERT_EQ(listen(server_, 8), 0);
  }
  void TearDown() override { close(server_); }

  int connect_to_server() const {
    const int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address_), length_), 0);
    return client;
  }

  sockaddr_un address_{};
  socklen_t length_ = 0;
  int server_ = -1;
};

TEST_F(ClientConnectionTest, EndsWhenTheDriverClosesIt) {
  const int other = connect_to_server();
  int own = -1, accepted = -1;
  ClientConnection connection;
  EXPECT_FALSE(connection.ended());
  connection.watch([&] {
    own = connect_to_server();
    accepted = accept(server_, nullptr, nullptr);  // a server's end is no client's
  });
  EXPECT_FALSE(connection.ended());
  close(other);
  close(accepted);
  EXPECT_FALSE(connection.ended());
  close(own);
  EXPECT_TRUE(connection.ended());
}

TEST_F(ClientConnectionTest, IsNotTakenForTheNextUnderItsNumber) {
  int own = -1;
  ClientConnection connection;
  connection.watch([&] { own = connect_to_server(); });
  close(own);
  const int next = connect_to_server();
  ASSERT_EQ(next, own);
  EXPECT_TRUE(connection.ended());
  close(next);
}

TEST_F(ClientConnectionTest, WithoutOneNothingHasEnded) {
  ClientConnection connection;
  int own = -1;
  connection.watch([&] { own = connect_to_server(); });
  connection.watch([&] { close(own); });  // the next try found no server
  EXPECT_FALSE(connection.ended());
}

}  // namespace
}  // namespace openlapi::dpdk
