#include "api/rpi/lapi/peer_ends.h"

#include <signal.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace openlapi::rpi {

namespace {

constexpr const char* kLiveness = "rpi.lapi.liveness";
constexpr unsigned kAtOnce = 0;

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

void PeerEnds::look() {
  if (port_) port_->look();
  watch_.look();
}

bool PeerEnds::has_ended(Peer peer) const {
  const int pid = pids_[peer];
  return pid != 0 ? kill(pid, 0) != 0 && errno == ESRCH : watch_.has_ended(peer);
}

}  // namespace openlapi::rpi
