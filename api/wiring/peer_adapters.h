// What the daemon of this node (lamd), or else the job's other tasks, tell of the adapters of others, for a context:
// which of the addresses that its peers have are down.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "control/client/adapter_source.h"

namespace openlapi {

struct NetworkRequest;

// An IPv6 address or a GID; an IPv4 address as ::ffff:a.b.c.d.
using PacketAddress = std::array<std::uint8_t, 16>;

// What a transport's packets leave over. The interface and the RDMA port of one card may have the same address, and one
// of them be down while the other one serves.
enum class AdapterKind : std::uint8_t { interface, port };

class PeerAdapters {
 public:
  // `when_ended`: called once, by whoever looks, when the source has ended.
  explicit PeerAdapters(std::unique_ptr<AdapterSource> source, std::function<void()> when_ended = {});

  const char* source_name() const { return source_->name(); }
  bool knows_all() const { return source_->knows_all(); }

  // Takes in what is new: by a comparison if nothing is, and now and then a system call. True: something has changed.
  bool look();
  // The same before a sleep that descriptor() ends: costs a system call.
  bool look_before_sleep();
  int descriptor() const { return source_->descriptor(); }
  // The source: nothing is known any more, and the descriptor stays readable.
  bool has_ended() const { return ended_; }
  const std::atomic<std::uint32_t>& changes() const { return changes_; }

  // An adapter of this kind has it, and none of those that have it is up; where nobody knows one of this kind, of any.
  bool is_down(PacketAddress address, AdapterKind kind) const { return down_[place_of(kind)].contains(address); }

  // Nothing comes through between the two: the daemons look into it. Never blocks.
  void report(PacketAddress here, PacketAddress there);
  // Whether an adapter of this task has a link; for those who do not see that themselves. Never blocks.
  void set_own(PacketAddress address, bool is_up);

 private:
  static std::size_t place_of(AdapterKind kind) { return static_cast<std::size_t>(kind); }
  void read();
  bool has_now_ended();

  const std::unique_ptr<AdapterSource> source_;
  const std::function<void()> when_ended_;
  std::array<std::set<PacketAddress>, 2> down_{};  // by kind
  std::uint32_t seen_ = 0;  // of the source
  unsigned looks_ = 0;
  bool ended_ = false;
  std::atomic<std::uint32_t> changes_ = 0;
};

// The daemon; without one the other tasks, where the launcher has a way for that. Null: nobody tells, which is no
// mistake. When the daemon ends, the first task of the node says so.
std::shared_ptr<PeerAdapters> open_peer_adapters(const NetworkRequest& request);

}  // namespace openlapi
