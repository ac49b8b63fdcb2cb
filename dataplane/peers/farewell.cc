#include "dataplane/peers/farewell.h"

#include "dataplane/tuning.h"

namespace openlapi {

// Who has not been heard for longer than it waits before it sends again has what it needs.
void say_farewell(const PeerTable& peers, Nanoseconds now) {
  for (const Peer* peer : peers.contacted()) {
    if (peer->channel == nullptr) continue;
    const Nanoseconds heard = peer->channel->reliable().last_heard();
    if (heard != 0 && now - heard <= tuning::kLongestRetransmitTimeout) peer->channel->repeat_acknowledgement(now);
  }
}

}  // namespace openlapi
