// The addresses of the job's tasks as the program gives them: by a handler or as a list (lapi_extend_t).
#pragma once

#include "api/include/lapi.h"
#include "api/wiring/networks.h"

namespace openlapi {

// Whether the program gives any.
bool gives_addresses(const lapi_info_t& info);

UdpAddress udp_address(const lapi_udp_t& entry);

class ProgramAddresses final : public AddressSource {
 public:
  // `extension` outlives this object.
  explicit ProgramAddresses(const lapi_extend_t& extension) : extension_(extension) {}

  // A handler is called once per adapter; a list has one address per task, or one per task and adapter.
  bool for_each_adapter(std::uint32_t tasks, std::size_t adapters) const override {
    return extension_.udp_hndlr != nullptr || entries(tasks) == adapters * tasks;
  }
  bool list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) override;

 private:
  // Of the list.
  std::size_t entries(std::uint32_t tasks) const {
    return extension_.num_udp_addr > 0 ? static_cast<std::size_t>(extension_.num_udp_addr) : tasks;
  }
  bool ask(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure);

  const lapi_extend_t& extension_;
};

}  // namespace openlapi
