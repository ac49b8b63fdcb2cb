// Messages between processes before there are transports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/clock.h"

namespace openlapi::rpi {

constexpr Nanoseconds kMostSilence = 120 * kSecond;  // of a process that is waited for

// Processes have ranks, in an order that is the same in all of them. Messages from one of them come in the order in
// which it sent them.
class ProcessMessages {
 public:
  virtual ~ProcessMessages() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;
  // Itself included, ascending.
  virtual const std::vector<std::uint32_t>& on_this_node() const = 0;
  // A number that these very processes have, in their order, and others hardly.
  virtual std::uint64_t identity() const = 0;

  // False: `error` says why.
  virtual bool send(std::uint32_t to, std::span<const std::byte> bytes, std::string& error) = 0;
  // Whether something from that process is here.
  virtual bool has_message(std::uint32_t from) = 0;
  // Whether that process is known to have ended. What it said before may still come.
  virtual bool has_died(std::uint32_t process) const = 0;
  // The next message from that process. Ends, with false, if it has died, and if nothing comes for very long.
  virtual bool receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) = 0;
};

}  // namespace openlapi::rpi
