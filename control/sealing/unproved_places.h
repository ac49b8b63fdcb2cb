// Which connection is closed when strangers want more places than there are. Everybody may connect as often as he
// likes, and a proof takes a moment. So only few connections that have proved nothing are kept, and there is always a
// place for one more: the address that has the most of them loses its oldest. Nobody can take the last place of another
// address; those who share an address with strangers have as long for their proof as the strangers need to fill its
// places, and try again when they were sent away.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace openlapi::sealing {

// How many a process keeps that may open this many files: a quarter of that, up to what is of use.
std::size_t unproved_places(std::size_t files);
// The same by this process's present limit.
std::size_t unproved_places();

// `addresses`: those of the unproved connections, the oldest first. The index of the one to close when `newcomer`
// connects; nothing: there is a place.
std::optional<std::size_t> who_goes(std::span<const std::uint32_t> addresses, std::uint32_t newcomer,
                                    std::size_t places);

// The same of all these connections. `unproved_address`: a connection's address, nothing if it has proved who it is or
// is over. Whose place is wanted is given to `close`. False: there is nobody who could go.
template <class Connections, class UnprovedAddress, class Close>
bool make_place(Connections& connections, UnprovedAddress unproved_address, std::uint32_t newcomer, std::size_t places,
                Close close) {
  std::vector<std::uint32_t> addresses;
  std::vector<typename Connections::value_type*> unproved;
  for (auto& connection : connections) {
    const std::optional<std::uint32_t> address = unproved_address(connection);
    if (!address) continue;
    addresses.push_back(*address);
    unproved.push_back(&connection);
  }
  if (unproved.empty()) return false;
  const auto gone = who_goes(addresses, newcomer, std::min(places, unproved.size() + 1));
  if (gone) close(*unproved[*gone]);
  return true;
}

// accept() has failed because there is no descriptor or no memory for one more connection.
bool is_shortage(int error);
// How long to wait then before the next accept(): meanwhile the listening socket stays ready, and must not be polled.
constexpr std::chrono::milliseconds kShortageTime{100};

}  // namespace openlapi::sealing
