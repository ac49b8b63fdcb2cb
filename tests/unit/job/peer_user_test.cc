#include "control/job/pmix/peer_user.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

constexpr uid_t kOther = 65533;

FileDescriptor tcp_socket() { return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// A listener of 127.0.0.1, and a connection to it that has not been accepted yet.
class PeerUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    ASSERT_EQ(listen(listener_.get(), 8), 0);
    ASSERT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }

  // Only root can be another; anybody else stays himself.
  uid_t connect_as(uid_t user) {
    setfsuid(user);
    client_ = tcp_socket();
    setfsuid(geteuid());
    EXPECT_EQ(connect(client_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return geteuid() == 0 ? user : geteuid();
  }

  ConnectionEnds ends() const {
    ConnectionEnds ends{address_, {}};
    socklen_t size = sizeof ends.peer;
    EXPECT_EQ(getsockname(client_.get(), reinterpret_cast<sockaddr*>(&ends.peer), &size), 0);
    return ends;
  }

  void expect_user(uid_t user) {
    for (const PeerUser& told : {user_at_other_end(ends()), user_in_table(ends())}) {
      ASSERT_TRUE(std::holds_alternative<uid_t>(told)) << told.index();
      EXPECT_EQ(std::get<uid_t>(told), user);
    }
  }

  FileDescriptor listener_ = tcp_socket();
  FileDescriptor client_{};
  sockaddr_in address_{};
};

TEST_F(PeerUserTest, IsWhoMadeTheSocket) {
  expect_user(connect_as(geteuid()));
  expect_user(connect_as(kOther));
}

TEST_F(PeerUserTest, IsNoProcessWhenTheSocketIsClosed) {
  connect_as(geteuid());
  const ConnectionEnds closed = ends();
  client_.reset();
  EXPECT_TRUE(std::holds_alternative<NoProcess>(user_at_other_end(closed)));
  EXPECT_TRUE(std::holds_alternative<NoProcess>(user_in_table(closed)));
}

// The kernel answers with the listener when it is asked for a connection to its port that is none.
TEST_F(PeerUserTest, IsNoProcessWhenOnlyAListenerHasThePort) {
  connect_as(geteuid());
  ConnectionEnds turned{ends().peer, address_};
  turned.here.sin_port = htons(1);
  EXPECT_TRUE(std::holds_alternative<NoProcess>(user_at_other_end(turned)));
  EXPECT_TRUE(std::holds_alternative<NoProcess>(user_in_table(turned)));
}

TEST_F(PeerUserTest, IsNotToldWithoutATable) {
  connect_as(geteuid());
  EXPECT_TRUE(std::holds_alternative<NotTold>(user_in_table(ends(), "/nonexistent")));
}

TEST_F(PeerUserTest, AcceptGivesNoConnectionOfAnother) {
  refuse_other_users();
  const bool another = connect_as(kOther) != geteuid();
  const FileDescriptor accepted(accept(listener_.get(), nullptr, nullptr));
  EXPECT_NE(accepted.is_open(), another);
  if (!another) return;
  EXPECT_EQ(errno, EAGAIN);
  char byte = 0;
  EXPECT_EQ(recv(client_.get(), &byte, 1, 0), 0);
}

TEST_F(PeerUserTest, AcceptGivesOnesOwnThatCannotBeSilentForEver) {
  refuse_other_users();
  connect_as(geteuid());
  const FileDescriptor accepted(accept(listener_.get(), nullptr, nullptr));
  ASSERT_TRUE(accepted.is_open());
  timeval silence{};
  socklen_t size = sizeof silence;
  ASSERT_EQ(getsockopt(accepted.get(), SOL_SOCKET, SO_RCVTIMEO, &silence, &size), 0);
  EXPECT_EQ(silence.tv_sec, 10);
  EXPECT_EQ(send(client_.get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(recv(accepted.get(), &byte, 1, 0), 1);
}

TEST_F(PeerUserTest, AcceptGivesNoConnectionThatIsClosedAlready) {
  refuse_other_users();
  connect_as(geteuid());
  client_.reset();
  EXPECT_EQ(accept(listener_.get(), nullptr, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace openlapi
