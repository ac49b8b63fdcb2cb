// The engine of two tasks over RDMA, on the devices of the soft-RoCE bed.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dataplane/base/monotonic_clock.h"
#include "tests/beds/verbs_bed.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/fixed_route.h"

namespace openlapi::test {

// The endpoints of two tasks on two devices.
class VerbsEngine : public testing::Test {
 protected:
  void start(std::uint32_t left_mtu = 0, std::uint32_t right_mtu = 0) {
    pair_ = std::make_unique<VerbsPair>(left_mtu, right_mtu);
    EndpointConfig config;
    config.tasks = 2;
    config.job_key = {fresh_cookie(), 0};
    config.timeout = 100 * kSecond;
    for (PeerIndex i = 0; i < 2; ++i) {
      config.self = i;
      Transport* transport = routes_[i].transport = &this->transport(i);
      endpoints_[i] = std::make_unique<Endpoint>(config, std::span(&transport, 1), clock_, routes_[i], hosts_[i]);
    }
  }

  // Puts `count` messages of many lengths from task 0 to task 1 and gets them back, while `disturb(number)` is called
  // before each message; then everything must be right.
  template <typename Disturb>
  void exchange(std::uint32_t count, Disturb disturb) {
    std::vector<std::vector<unsigned char>> sources(count), sinks(count), back(count);
    int put = 0, got = 0;
    const auto step = [&] { return endpoints_[0]->progress() + endpoints_[1]->progress(); };
    for (std::uint32_t i = 0; i < count; ++i) {
      disturb(i);
      sources[i].assign((i * 977) % 9000 + (i % 50 == 0 ? 100'000 : 0), static_cast<unsigned char>(i + 1));
      sinks[i].resize(sources[i].size());
      back[i].resize(sources[i].size());
      const PutRequest request{1, address(sinks[i].data()), sources[i].data(), sources[i].size(), 0, 0, address(&put)};
      ASSERT_TRUE(wait_for([&] { return step(), endpoints_[0]->put(request) == Submit::accepted; }));
    }
    ASSERT_TRUE(wait_for([&] { return step(), put == static_cast<int>(count); }, 90)) << put << " of " << count;
    EXPECT_TRUE(sinks == sources);
    for (std::uint32_t i = 0; i < count; ++i) {
      const GetRequest request{1, address(sinks[i].data()), back[i].data(), back[i].size(), 0, address(&got)};
      ASSERT_TRUE(wait_for([&] { return step(), endpoints_[0]->get(request) == Submit::accepted; }));
    }
    ASSERT_TRUE(wait_for([&] { return step(), got == static_cast<int>(count); }, 90)) << got << " of " << count;
    EXPECT_TRUE(back == sources);
    for (const ScriptedHost& host : hosts_) EXPECT_TRUE(host.faults.empty());
  }

  // The interface of task 1 goes down in the middle of the puts, and comes back.
  void exchange_while_an_interface_is_down() {
    exchange(200, [&](std::uint32_t number) {
      if (number == 100) {
        command("ip link set rdma1 down");
        ASSERT_TRUE(wait_for_port("rxe1", "DOWN"));
      } else if (number == 110) {
        command("ip link set rdma1 up");
        ASSERT_TRUE(wait_for_port("rxe1", "ACTIVE"));
      }
    });
  }

  VerbsTransport& transport(PeerIndex task) { return task == 0 ? *pair_->left : *pair_->right; }
  Endpoint& endpoint(PeerIndex task) { return *endpoints_[task]; }

  // A task ends, without a word to the other one.
  void end(PeerIndex task) {
    endpoints_[task].reset();
    (task == 0 ? pair_->left : pair_->right).reset();
  }
  void stop() {
    for (auto& endpoint : endpoints_) endpoint.reset();
    pair_.reset();
  }

 private:
  MonotonicClock clock_;
  std::unique_ptr<VerbsPair> pair_;
  std::array<FixedRoute, 2> routes_;
  std::array<ScriptedHost, 2> hosts_;
  std::array<std::unique_ptr<Endpoint>, 2> endpoints_;
};

}  // namespace openlapi::test
