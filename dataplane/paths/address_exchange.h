// Adapters that are elsewhere than their task has said when it published their addresses: what a packet tells of them,
// what a task knows of its own, and which of that a peer has been told. Nothing is kept of a peer until either of the
// two has changed. Passive: the time is an argument.
//
// A task tells its peers over all paths, again and again, until they say that they have taken it in: a packet that does
// is believed from wherever it comes, as the only one, so that one adapter alone can make itself known from its new
// address. It proves that it is from its pair of tasks as all packets do; whoever has changed how often tells older
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

struct ChangedAddress {
  PeerAddress published, present;
};

// What a packet says. wire_format.md has the layout.
struct AddressNews {
  static constexpr std::size_t kMostBytes = 584;  // eight adapters with addresses of a verbs port's length fit

  std::uint32_t changes = 0;  // of the sender's addresses, in all
  std::uint32_t taken = 0;    // of the receiver's that the sender has taken in
  std::vector<ChangedAddress> addresses{};

  // Those that fit into kMostBytes. A multiple of 8 bytes; returns how many.
  std::size_t encode(std::span<std::byte, kMostBytes> out) const;
  // False: it is malformed.
  bool decode(std::span<const std::byte> payload);
};

// Of a task's transports.
class OwnAddresses {
 public:
  // Outlives this. Its address is what others are told by other means.
  void add(const Transport& transport) { known_.push_back({&transport, transport.local_address()}); }

  // Calls tell(transport, ChangedAddress) for each whose address is another one than when it was last looked at;
  // `published` is then that former one.
  template <typename Tell>
  void look(Tell tell) {
    for (Known& known : known_) {
      const PeerAddress now = known.transport->local_address();
      const PeerAddress before = known.changed ? known.present : known.published;
      if (now.length == 0 || now == before) continue;
      known.present = now;
      known.changed = true;
      ++changes_;
      tell(*known.transport, ChangedAddress{before, now});
    }
  }
  std::uint32_t changes() const { return changes_; }
  std::vector<ChangedAddress> changed() const;

 private:
  struct Known {
    const Transport* transport;
    PeerAddress published;
    PeerAddress present{};
    bool changed = false;
  };
  std::vector<Known> known_;
  std::uint32_t changes_ = 0;
};

// With one peer.
class AddressExchange {
 public:
  // Ours have changed, or the peer may have forgotten it.
  void tell(Nanoseconds now);
  // While something waits for the peer it is told for ever; else not for longer than some seconds.
  void go_on(Nanoseconds now) {
    if (untold_ && next_ == UINT64_MAX) next_ = now;
  }
  // A packet has come. True: it has what was not taken in before.
  bool take(const AddressNews& news, std::uint32_t own_changes, Nanoseconds now);
  // The peer is another incarnation, which has told nothing yet.
  void begin_anew() { taken_ = 0; }

  Nanoseconds due() const { return next_; }  // UINT64_MAX: nothing is to be sent
  bool tells() const { return untold_; }     // our addresses, not only what was taken in
  std::uint32_t taken() const { return taken_; }
  void sent(Nanoseconds now);

 private:
  bool untold_ = false;
  std::uint32_t taken_ = 0;  // of the peer's changes
  unsigned tries_ = 0;
  Nanoseconds pause_ = 0;
  Nanoseconds next_ = UINT64_MAX;
};

}  // namespace openlapi
