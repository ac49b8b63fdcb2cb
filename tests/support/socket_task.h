// Two tasks over UDP, each at a loopback address of its own, in virtual time; a third one may say at one of these
// addresses that it is one of them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nic/udp/udp_transport.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {

using Faults = std::vector<std::pair<Fault, PeerIndex>>;

inline constexpr in_addr_t kAddresses[2] = {0x7f000111, 0x7f000112};  // 127.0.1.17 and 127.0.1.18
inline constexpr in_addr_t kElsewhere = 0x7f000113;
inline constexpr SipKey kKey{1, 2};

inline std::unique_ptr<UdpTransport> open_at(in_addr_t address) {
  UdpConfig config;
  config.address.s_addr = htonl(address);
  UdpSetupError error;
  std::unique_ptr<UdpTransport> transport = open_udp_transport(config, error);
  EXPECT_TRUE(transport) << error.text;
  return transport;
}

class SocketTask final : public RouteResolver {
 public:
  SocketTask(in_addr_t address, TurnedClock& clock) : transport(open_at(address)), clock_(clock) {}

  void start(PeerIndex self, const SipKey& key, const UdpTransport& peer, bool key_may_differ = true) {
    peer_ = &peer;
    EndpointConfig config;
    config.self = self;
    config.tasks = 2;
    config.job_key = key;
    config.key_may_differ = key_may_differ;
    config.epoch = 0x700000001 + self;
    config.idle_loops_between_timers = 1;
    Transport* const path = transport.get();
    endpoint = std::make_unique<Endpoint>(config, std::span(&path, 1), clock_, *this, host);
  }

  Route resolve(PeerIndex peer) override {
    Route route;
    std::string error;
    EXPECT_TRUE(transport->add_peer(peer, peer_->local_address(), error)) << error;
    route.paths[0] = transport.get();
    route.count = 1;
    return route;
  }

  void put_to(PeerIndex target) {
    const auto sink = reinterpret_cast<std::uintptr_t>(&sink_);
    ASSERT_EQ(endpoint->put({target, sink, &value_, sizeof(value_), 0, 0, 0}), Submit::accepted);
  }

  std::unique_ptr<UdpTransport> transport;
  ScriptedHost host;
  std::unique_ptr<Endpoint> endpoint;

 private:
  TurnedClock& clock_;
  const UdpTransport* peer_ = nullptr;
  std::uint64_t sink_ = 0, value_ = 1;
};

}  // namespace openlapi
