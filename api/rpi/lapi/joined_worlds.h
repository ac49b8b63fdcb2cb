// One World of several: that of the processes which were there at the start, and one for each group that came later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/lapi/polled_world.h"
#include "api/rpi/lapi/worlds_poller.h"
#include "api/wiring/joined_job.h"

namespace openlapi::rpi {

class JoinedWorlds final : public World {
 public:
  // Opens paths to a group's processes, by Peer there. Null: `reason` says why.
  using Open = std::function<std::unique_ptr<PolledWorld>(JoinedJob& job, std::span<const WorldProcess> processes,
                                                          WorldListener& listener, std::string& reason)>;
  // With a lock a thread goes on while the program is in no call: everything but interrupt() is called by who has it,
  // the end of this as well.
  JoinedWorlds(WorldListener& listener, Open open, ContextLock* lock = nullptr)
      : listener_(listener), open_(std::move(open)), lock_(lock) {}

  // A member of a group, with whom it may be known already.
  struct Member {
    WorldProcess process{};
    bool is_new = false;  // it gets the next number, and is reached in this group
  };
  // Opens paths to the group's processes: all of them call it. False: `reason` says why.
  bool add(std::shared_ptr<Bootstrap> bootstrap, std::span<const Member> members, std::string& reason);
  // These peers, who get the next numbers, are not talked to.
  void leave_out(Peer count) { reached_.resize(reached_.size() + count); }
  // Goes on until all is here that the peer has begun to send, and all that is read from it.
  void take_begun(Peer peer);
  // The peer is not talked to any more, once all is here that it is sending to receives. The last one of a group ends
  // the paths to it, once they are drained.
  void remove(Peer peer);

  Peer self() const override { return self_; }
  Peer peers() const override { return static_cast<Peer>(reached_.size()); }
  void send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                    WhenDone when_sent) override;
  void get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override;
  bool progress(bool block) override { return poller_->progress(block); }
  void interrupt() override { interruption_.raise(); }
  void has_left(Peer peer) override;
  void expect_no_more(Peer peer) override;
  void give_up(Peer peer, const char* reason) override;
  bool drained() override;
  // The end of a call of the program.
  void end_call() {
    if (poller_ != nullptr) poller_->end_call();
  }
  // Between these two the thread is not there. Starting it again: false, and `reason` says why.
  void stop_thread();
  bool start_thread(std::string& reason);
  // Goes on until it is, however long that takes: whoever never takes what was sent is dead some day, or a time-out is
  // over.
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
    std::unique_ptr<PolledWorld> world{};
  };
  // Where a peer is reached.
  struct PeerOfPart {
    Part* part = nullptr;  // null: the peer was removed
    Peer there = 0;
  };

  bool renew_poller(std::string& reason);

  WorldListener& listener_;
  const Open open_;
  ContextLock* const lock_;
  Peer self_ = 0;
  std::vector<PeerOfPart> reached_{};  // by Peer
  std::vector<std::unique_ptr<Part>> parts_{};
  Interruption interruption_{};
  std::unique_ptr<WorldsPoller> poller_{};  // of all parts
};

}  // namespace openlapi::rpi
