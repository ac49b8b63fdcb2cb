// Sleeping until frames arrive: by receive interrupts where the driver has them, by af_packet's packet socket, and
// otherwise by sleeps that grow longer. Such a sleep is never longer than about the time for which nothing has moved.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dataplane/transport/transport.h"
#include "nic/dpdk/ethernet_port.h"

struct rte_epoll_event;

namespace openlapi::dpdk {

class ArrivalWake final : public WakeSource {
 public:
  // What the transport tells it: whether packets wait, and how many have passed in both directions.
  struct Look {
    std::function<bool()> packets_wait;
    std::function<std::uint64_t()> packets_passed;
  };

  static constexpr std::uint64_t kShortestSleep = 50'000;        // nanoseconds
  static constexpr std::uint64_t kLongestSleep = 20'000'000;     // a look at the ports takes 20 to 70 us of a core
  static constexpr std::uint64_t kBetweenUpkeeps = 100'000'000;  // for checking links, where packets wake the sleeper

  // The ports are started, and outlive this object.
  ArrivalWake(const std::vector<EthernetPort*>& ports, Look look);
  ~ArrivalWake() override;
  ArrivalWake(const ArrivalWake&) = delete;
  ArrivalWake& operator=(const ArrivalWake&) = delete;

  // False: descriptors are exhausted.
  bool valid() const { return descriptor_ >= 0 && timer_ >= 0; }

  int descriptor() const override { return descriptor_; }
  bool immediate() const override { return !any(Way::timer); }
  bool arm() override;
  void disarm() override;

  // Where the port is away now, or is back, it is no longer listened to, or again.
  void follow(EthernetPort& port);

 private:
  enum class Way : std::uint8_t { none, interrupt, socket, timer };
  struct Watched;
  void watch(Watched& watched);
  void leave(Watched& watched);
  bool any(Way way) const;
  static bool may_ring(const Watched& watched);
  void forget_wake_ups();
  std::uint64_t longest_sleep() const;
  void set_timer(std::uint64_t nanoseconds);

  std::vector<Watched> ports_;
  std::unique_ptr<rte_epoll_event> timer_event_;  // DPDK keeps a pointer to it
  Look look_;
  int descriptor_ = -1;
  int timer_ = -1;
  std::uint64_t passed_ = 0;  // value of Look's count when it was last armed
  std::uint64_t sleep_ = kShortestSleep;
};

}  // namespace openlapi::dpdk
