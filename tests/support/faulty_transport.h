// A decorator that makes any transport lose, double, delay (and so reorder) and damage packets on their way out, as a
// seed decides. Time is counted in packets: a delayed packet leaves after that many later packets or receive_burst()
// calls of this transport, so nothing waits for ever.
//
// The same seed and the same calls give the same faults. Delayed packets do not hold arm() up: to a sleeping receiver
// they are as good as lost until its owner polls again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/transport/transport.h"

namespace openlapi::test {

// Shares of all packets, 0 .. 1.
struct FaultPlan {
  double loss = 0;
  double duplication = 0;  // the second copy may be delayed, damaged or lost like any other
  double delay = 0;
  double corruption = 0;   // one bit is wrong; limits().checked becomes false
  std::uint32_t longest_delay = 16;  // packets
};

struct FaultCounters {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t corrupted = 0;
};

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, const FaultPlan& plan, std::uint64_t seed);

  const FaultCounters& faults() const { return faults_; }
  void change(const FaultPlan& plan) { plan_ = plan; }  // limits() stay as they are
  Transport& inner() { return *inner_; }

  std::string_view name() const override { return inner_->name(); }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return inner_->local_address(); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    return inner_->add_peer(peer, address, error);
  }
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  void release(std::size_t count) override { inner_->release(count); }
  TransportCapabilities capabilities() override { return inner_->capabilities(); }
  TransportCounters counters() const override { return inner_->counters(); }  // of what really went

 private:
  static constexpr std::size_t kMostWaiting = 256;  // packets; then send_burst() refuses

  struct Waiting {
    std::uint64_t due;  // tick
    PeerIndex peer;
    std::vector<std::byte> bytes;
  };

  bool happens(double share);
  void launch(PeerIndex peer, std::vector<std::byte> bytes);
  void send_due();

  std::unique_ptr<Transport> inner_;
  FaultPlan plan_;
  TransportLimits limits_;
  std::mt19937_64 random_;
  std::uint64_t tick_ = 0;
  std::deque<Waiting> waiting_;  // by due, packets of the same tick in the order in which they came
  FaultCounters faults_;
};

}  // namespace openlapi::test
