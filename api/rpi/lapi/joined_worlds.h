// One World of several: that of the processes which were there at the start, and one for each group that came later.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/lapi/endpoint_world.h"
#include "api/rpi/lapi/world.h"
#include "api/wiring/joined_job.h"

namespace openlapi::rpi {

class JoinedWorlds final : public World {
 public:
  explicit JoinedWorlds(WorldListener& listener) : listener_(listener) {}

  // A member of a group, with whom it may be known already.
  struct Member {
    WorldProcess process{};
    bool is_new = false;  // it gets the next number, and is reached in this group
  };
  // Opens paths to the group's processes: all of them call it. False: `reason` says why.
  bool add(std::shared_ptr<Bootstrap> bootstrap, std::span<const Member> members, std::string& reason);
  // The peer is not talked to any more. The last one of a group ends the paths to it.
  void remove(Peer peer);

  Peer self() const override { return self_; }
  Peer peers() const override { return static_cast<Peer>(routes_.size()); }
  void send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                    WhenDone when_sent) override;
  void get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override;
  bool progress(bool block) override;
  void interrupt() override;
  void has_left(Peer peer) override;
  bool drained() override;
  // Goes on until it is, for some seconds at most.
  void drain();

 private:
  static constexpr Peer kNobody = UINT32_MAX;

  struct Part final : WorldListener {
    Part(WorldListener& outer) : listener(outer) {}
    Landing arriving(const IncomingMessage& message) override;
    void lost(Peer peer, const char* reason) override;

    WorldListener& listener;
    JoinedJob job{};
    std::vector<Peer> numbers{};  // by the part's own
    std::uint32_t users = 0;      // peers that are reached in it
    std::unique_ptr<World> world{};
  };
  struct Route {
    Part* part = nullptr;  // null: the peer was removed
    Peer there = 0;
  };

  bool step();

  WorldListener& listener_;
  Peer self_ = 0;
  std::vector<Route> routes_{};  // by Peer
  std::vector<std::unique_ptr<Part>> parts_{};
  std::atomic<bool> interrupted_{false};
};

}  // namespace openlapi::rpi
