// Which adapters of the universe are up, for a task on a node with a daemon (lamd).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/base/adapter_page.h"
#include "control/daemon/messages/connection.h"

namespace openlapi {

// One thread at a time; changes() may be compared by any.
class AdapterWatch {
 public:
  // `folder`: of the session; empty: as tools find it, in a batch job also one without its number. Null: `error` says
  // why; without a daemon here that is no mistake.
  static std::unique_ptr<AdapterWatch> open(const std::string& folder, std::string& error);
  ~AdapterWatch();
  AdapterWatch(const AdapterWatch&) = delete;
  AdapterWatch& operator=(const AdapterWatch&) = delete;

  // Another value than at the last look: something has changed, or is about to.
  const std::atomic<std::uint32_t>& changes() const { return page_->changes; }
  // What is known, and in `seen` the value of changes() at that time. False: it is being written; look again.
  bool read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const;

  // For those that sleep: readable when something has changed since drain(), or the daemon has ended.
  int descriptor() const { return lamd_.fd(); }
  // Never blocks. False: the daemon has ended: what was read is not known any more, and nothing will change.
  bool drain();

  // Nothing comes through between an address here and a peer's: their daemons look into it. Never blocks; may be said
  // as often as one likes.
  void report(std::span<const std::uint8_t> here, std::span<const std::uint8_t> there);

 private:
  AdapterWatch(const AdapterPage* page, FileDescriptor socket);
  static std::unique_ptr<AdapterWatch> open_at(const std::string& folder);

  const AdapterPage* page_;
  daemon::Connection lamd_;
};

}  // namespace openlapi
