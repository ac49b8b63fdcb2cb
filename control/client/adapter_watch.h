// Which adapters of the universe are up, for a task on a node with a daemon (lamd).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/base/adapter_page.h"
#include "control/client/adapter_source.h"
#include "control/daemon/messages/connection.h"

namespace openlapi {

class AdapterWatch final : public AdapterSource {
 public:
  // `folder`: of the session; empty: as tools find it, in a batch job also one without its number. Null: `error` says
  // why; without a daemon here that is no mistake.
  static std::unique_ptr<AdapterWatch> open(const std::string& folder, std::string& error);
  ~AdapterWatch() override;
  AdapterWatch(const AdapterWatch&) = delete;
  AdapterWatch& operator=(const AdapterWatch&) = delete;

  const char* name() const override { return "lamd"; }
  bool knows_all() const override { return true; }
  const std::atomic<std::uint32_t>& changes() const override { return page_->changes; }
  bool read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const override;
  int descriptor() const override { return lamd_.fd(); }
  bool drain() override;
  // The daemons of both nodes look into it.
  void report(std::span<const std::uint8_t> here, std::span<const std::uint8_t> there) override;
  void set_own(std::span<const std::uint8_t, 16>, bool) override {}  // the daemon sees it, too

 private:
  AdapterWatch(const AdapterPage* page, FileDescriptor socket);
  static std::unique_ptr<AdapterWatch> open_at(const std::string& folder);

  const AdapterPage* page_;
  daemon::Connection lamd_;
};

}  // namespace openlapi
