// Tasks whose DPDK transports have two ports each, in one process, and what their packets do when one of these goes
// down. The ports of both are the test's.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nic/dpdk/dpdk_transport.h"
#include "tests/beds/dpdk_bed.h"

namespace openlapi::test {

class TwoTasks {
 public:
  TwoTasks(DpdkConfig left, DpdkConfig right) {
    left.address = 0x0a4e0001;
    right.address = 0x0a4e0002;
    left_ = open(left);
    right_ = open(right);
  }

  bool are_open() const { return left_ != nullptr && right_ != nullptr; }
  DpdkTransport& left() { return *left_; }
  DpdkTransport& right() { return *right_; }

  // Each is told where the other one is.
  void meet() {
    std::string error;
    EXPECT_TRUE(left_->add_peer(1, right_->local_address(), error)) << error;
    EXPECT_TRUE(right_->add_peer(0, left_->local_address(), error)) << error;
  }
  bool talk() { return arrives(*left_, 1, *right_) && arrives(*right_, 0, *left_); }

  // Both take in what has happened to their ports.
  bool come_to(const std::function<bool()>& condition) {
    return wait_for([&] {
      take(*left_);
      take(*right_);
      return condition();
    });
  }

 private:
  static std::unique_ptr<DpdkTransport> open(const DpdkConfig& config) {
    DpdkSetupError error;
    auto transport = open_dpdk_transport(config, error);
    EXPECT_NE(transport, nullptr) << error.text;
    return transport;
  }

  std::unique_ptr<DpdkTransport> left_, right_;
};

// The interfaces of a transport's ports, in their order: each goes down and comes up, and messages go on.
inline void survives_each_port(TwoTasks& tasks, DpdkTransport& transport, const std::vector<std::string>& interfaces) {
  for (std::size_t which = 0; which != interfaces.size(); ++which) {
    ip("link set " + interfaces[which] + " down");
    ASSERT_TRUE(tasks.come_to([&] { return !transport.port(which).up(); })) << interfaces[which];
    EXPECT_TRUE(tasks.talk()) << "without " << interfaces[which];
    ip("link set " + interfaces[which] + " up");
    ASSERT_TRUE(tasks.come_to([&] { return transport.port(which).up(); })) << interfaces[which];
    EXPECT_TRUE(tasks.talk()) << "with " << interfaces[which] << " again";
  }
}

// All go down, and one alone comes up again.
inline void survives_without_all_but_one(TwoTasks& tasks, DpdkTransport& transport,
                                         const std::vector<std::string>& interfaces) {
  for (std::size_t last = 0; last != interfaces.size(); ++last) {
    for (std::size_t which = 0; which != interfaces.size(); ++which) {
      ip("link set " + interfaces[which] + " down");
      ASSERT_TRUE(tasks.come_to([&] { return !transport.port(which).up(); })) << interfaces[which];
    }
    ip("link set " + interfaces[last] + " up");
    ASSERT_TRUE(tasks.come_to([&] { return transport.port(last).up(); })) << interfaces[last];
    EXPECT_TRUE(tasks.talk()) << "over " << interfaces[last] << " alone";
    for (const std::string& interface : interfaces) ip("link set " + interface + " up");
  }
}

}  // namespace openlapi::test
