#include "api/rpi/lapi/peer_ends.h"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace openlapi::rpi {

namespace {

constexpr const char* kLiveness = "rpi.lapi.liveness";
constexpr unsigned kAtOnce = 0;
constexpr std::chrono::seconds kLongestReach{1};  // some may be out of reach: a gate may let nobody in

}  // namespace

// Nobody needs it to begin with.
void PeerEnds::publish(Bootstrap& bootstrap, bool has_others) {
  if (!has_others) return;
  port_.emplace();
  std::string error;
  bootstrap.put(kLiveness, port_->told(addresses_), error);
}

void PeerEnds::add(Bootstrap& bootstrap, const WorldProcess& process) {
  std::string error;
  std::vector<std::byte> told;
  const bool is_here = process.pid != 0 || process.rank == bootstrap.task();
  if (is_here || !bootstrap.get(process.rank, kLiveness, kAtOnce, told, error)) told.clear();
  watch_.add(told);
  pids_.push_back(process.pid);
}

// Who ends later than this was reached before, by those who try it now. All know alike whether anybody has a port.
bool PeerEnds::begin(Bootstrap& bootstrap, std::string& error) {
  watch_.begin();
  std::string missing;
  std::vector<std::byte> told;
  bool has_ports = false;
  for (std::uint32_t rank = 0; rank < bootstrap.size() && !has_ports; ++rank) {
    has_ports = bootstrap.get(rank, kLiveness, kAtOnce, told, missing);
  }
  if (!has_ports) return true;
  watch_.await_reached(kLongestReach);
  return bootstrap.exchange(error);
}

void PeerEnds::look() {
  if (port_) port_->look();
  watch_.look();
}

bool PeerEnds::has_ended(Peer peer) const {
  const int pid = pids_[peer];
  return pid != 0 ? kill(pid, 0) != 0 && errno == ESRCH : watch_.has_ended(peer);
}

}  // namespace openlapi::rpi
