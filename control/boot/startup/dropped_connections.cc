#include "control/boot/startup/dropped_connections.h"

#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "control/base/sockets.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/startup/startup_socket.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kMostAddresses = 1024;  // that are told apart

struct Dropped {
  pid_t process = getpid();
  std::uint64_t connections = 0;
  std::set<in_addr_t> addresses{};
  std::string first{};
};

std::mutex mutex;
Dropped dropped;

// A child of fork() begins anew.
Dropped& own_dropped() {
  if (dropped.process != getpid()) dropped = {};
  return dropped;
}

}  // namespace

void count_dropped_connection(const sockaddr_in& from, const std::string& why) {
  const std::lock_guard lock(mutex);
  Dropped& all = own_dropped();
  if (all.connections++ == 0) all.first = address_text(from) + " to the startup protocol was dropped: " + why;
  if (all.addresses.size() < kMostAddresses) all.addresses.insert(from.sin_addr.s_addr);
}

void report_dropped_connections() {
  Dropped all;
  {
    const std::lock_guard lock(mutex);
    all = std::exchange(own_dropped(), {});
  }
  if (all.connections == 0) return;
  std::string line = "a connection from " + all.first;
  if (all.connections > 1) {
    const std::uint64_t others = all.connections - 1;
    line += others == 1 ? "; so was 1 other" : "; so were " + std::to_string(others) + " others";
    line += std::string(", from ") + (all.addresses.size() == kMostAddresses ? "at least " : "") +
            std::to_string(all.addresses.size()) + (all.addresses.size() == 1 ? " address" : " addresses") + " in all";
  }
  print_error(line);
}

}  // namespace openlapi::boot
