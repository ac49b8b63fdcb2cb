// Who goes when strangers want more places than there are. Everybody may connect, with as many connections as he likes;
// to have proved something takes a moment. So connections that have not are few, and there is always a place for one
// more: the address that has the most of them gives its oldest. Nobody can take the last place of another address, and
// those who share an address with strangers have as long for their proof as it takes the strangers to fill its places;
// who was sent away comes again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace openlapi::sealing {

// For a process that may open this many files: a quarter of them, and no more than are of use.
std::size_t unproved_places(std::size_t files);
// By this process's limit as it is now.
std::size_t unproved_places();

// `addresses`: whose the unproved connections are, the oldest first. The index of the one that goes when one more
// comes, of `newcomer`; nothing: there is a place.
std::optional<std::size_t> who_goes(std::span<const std::uint32_t> addresses, std::uint32_t newcomer,
                                    std::size_t places);

// accept() has failed because there is no descriptor or no memory for one more connection.
bool is_shortage(int error);
// How long who listens waits then: until it has accepted, its socket is ready all the time.
constexpr std::chrono::milliseconds kShortageTime{100};

}  // namespace openlapi::sealing
