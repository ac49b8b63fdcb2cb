// Which of a World's processes have ended, where their memory is not shared: of this node the system tells, of others
// the ports that they have for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/rpi/lapi/polled_world.h"
#include "control/client/bootstrap.h"
#include "control/client/liveness.h"

namespace openlapi::rpi {

class PeerEnds {
 public:
  // Before the exchange. `has_others`: some process is not of this node.
  void publish(Bootstrap& bootstrap, bool has_others);
  // After it: the next process, by Peer.
  void add(Bootstrap& bootstrap, const WorldProcess& process);
  // All of the job call it, and live until all have. False: `error` says why.
  bool begin(Bootstrap& bootstrap, std::string& error);

  // Those that have neither said anything lately nor left.
  void want(Peer peer, bool is_wanted) { watch_.want(peer, is_wanted); }
  void look();
  bool has_ended(Peer peer) const;
  // As of LivenessWatch.
  bool is_silent(Peer peer, unsigned looks) const { return pids_[peer] == 0 && watch_.is_silent(peer, looks); }

 private:
  std::vector<in_addr> addresses_ = own_addresses();
  std::optional<LivenessPort> port_{};  // none: only others would ask it
  LivenessWatch watch_{addresses_};
  std::vector<int> pids_{};  // 0: on another node
};

}  // namespace openlapi::rpi
