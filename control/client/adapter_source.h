// Who tells a task which adapters of its peers are down: the daemon of its node (adapter_watch.h) or other tasks, by
// PMIx events (adapter_events.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "control/base/adapter_page.h"

namespace openlapi {

// One thread at a time; changes() may be compared by any.
class AdapterSource {
 public:
  virtual ~AdapterSource() = default;

  // As people know it.
  virtual const char* name() const = 0;
  // It is told of all adapters by those who watch them, and so says what it has not heard of, too.
  virtual bool knows_all() const = 0;

  // Another value than at the last look: something has changed, or is about to.
  virtual const std::atomic<std::uint32_t>& changes() const = 0;
  // What is known, and in `seen` the value of changes() at that time. False: it is being written; look again.
  virtual bool read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const = 0;

  // For those that sleep: readable when something has changed since drain(), or the source has ended.
  virtual int descriptor() const = 0;
  // Never blocks. False: it has ended: what was read is not known any more, and nothing will change.
  virtual bool drain() = 0;

  // Nothing comes through between an address here and a peer's. Never blocks; may be said as often as one likes.
  virtual void report(std::span<const std::uint8_t> here, std::span<const std::uint8_t> there) = 0;
  // Whether an adapter of this task has a link: when that was found to have changed, and at first. Never blocks.
  virtual void set_own(std::span<const std::uint8_t, 16> address, bool is_up) = 0;
};

}  // namespace openlapi
