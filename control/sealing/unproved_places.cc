#include "control/sealing/unproved_places.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace openlapi::sealing {
namespace {

constexpr std::size_t kMostPlaces = 256;

}  // namespace

std::size_t unproved_places(std::size_t files) { return std::clamp<std::size_t>(files / 4, 1, kMostPlaces); }

std::size_t unproved_places() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? unproved_places(limit.rlim_cur) : kMostPlaces;
}

std::optional<std::size_t> who_goes(std::span<const std::uint32_t> addresses, std::uint32_t newcomer,
                                    std::size_t places) {
  if (addresses.size() < places) return std::nullopt;
  struct Holder {
    std::size_t connections = 0;
    std::size_t oldest = 0;
  };
  std::map<std::uint32_t, Holder> holders;
  for (std::size_t n = 0; n < addresses.size(); ++n) {
    Holder& holder = holders.try_emplace(addresses[n], Holder{0, n}).first->second;
    ++holder.connections;
  }
  // The newcomer counts as if it were there; of several that have the most, the one that has been waiting longest goes.
  if (const auto own = holders.find(newcomer); own != holders.end()) ++own->second.connections;
  const auto most = std::ranges::max_element(holders, [](const auto& left, const auto& right) {
    return left.second.connections != right.second.connections ? left.second.connections < right.second.connections
                                                               : left.second.oldest > right.second.oldest;
  });
  return most->second.oldest;
}

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace openlapi::sealing
