// Section 3.6: what lsba_verify_nodes has to find out.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>

#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"

namespace {

class VerifyNodes : public testing::Test {
 protected:
  int verify(std::vector<std::string> names, std::vector<int> invalid = {}) {
    names_ = std::move(names);
    nodes_.assign(names_.size(), lamnode{});
    for (std::size_t n = 0; n < names_.size(); ++n) {
      nodes_[n].lnd_nodeid = static_cast<int>(n);
      nodes_[n].lnd_hname = names_[n].data();
    }
    for (const int n : invalid) nodes_[static_cast<std::size_t>(n)].lnd_nodeid = NOTNODEID;
    testing::internal::CaptureStderr();
    const int status = lam_ssi_boot_base_verify_nodes(nodes_.data(), static_cast<int>(nodes_.size()), &origin_);
    error_ = testing::internal::GetCapturedStderr();
    return status;
  }

  std::vector<std::string> names_{};
  std::vector<lamnode> nodes_{};
  int origin_ = -1;
  std::string error_{};
};

TEST_F(VerifyNodes, FindsTheLocalNodeAndMakesItTheOrigin) {
  ASSERT_EQ(verify({"bad name", "127.0.0.1"}, {0}), 0) << error_;
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(nodes_[1].lnd_type, NT_ME | NT_ORIGIN);
  EXPECT_EQ(nodes_[1].lnd_addr.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

TEST_F(VerifyNodes, KeepsAnOriginThatThereIs) {
  nodes_.resize(2);
  char here[] = "127.0.0.1";
  nodes_[0].lnd_hname = here;
  nodes_[0].lnd_type = NT_ORIGIN;
  ASSERT_EQ(lam_ssi_boot_base_verify_nodes(nodes_.data(), 1, nullptr), 0);
  EXPECT_EQ(nodes_[0].lnd_type, NT_ORIGIN | NT_ME);
}

TEST_F(VerifyNodes, RefusesANameWithoutAddress) {
  EXPECT_EQ(verify({"127.0.0.1", "no.such.host.invalid"}), LAMERROR);
  EXPECT_TRUE(error_.starts_with(std::string(program_invocation_short_name) +
                                 ": node n1 (no.such.host.invalid): its name has no address: "))
      << error_;
  int bad = -1;
  EXPECT_EQ(lamnet_findhosts(nodes_.data(), 2, &bad), LAMERROR);
  EXPECT_EQ(bad, 1);
}

TEST_F(VerifyNodes, RefusesLoopbackAmongSeveralNodes) {
  EXPECT_EQ(verify({"192.0.2.7", "127.0.0.1"}), LAMERROR);
  EXPECT_TRUE(error_.starts_with(std::string(program_invocation_short_name) +
                                 ": node n1 (127.0.0.1) has the address 127.0.0.1, which other nodes cannot reach"))
      << error_;
}

TEST_F(VerifyNodes, RefusesAListWithoutThisMachine) {
  EXPECT_EQ(verify({"192.0.2.7", "192.0.2.8"}), LAMERROR);
  EXPECT_TRUE(
      error_.starts_with(std::string(program_invocation_short_name) + ": the node list does not have this machine"))
      << error_;
  EXPECT_EQ(lamnet_findorig(nodes_.data(), 2), -1);
}

}  // namespace
