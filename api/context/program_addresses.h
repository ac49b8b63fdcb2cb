// Where the program says that the tasks of its job are: by a handler or a list (lapi_extend_t).
#pragma once

#include "api/include/lapi.h"
#include "api/wiring/networks.h"

namespace openlapi {

// Whether there are any.
bool gives_addresses(const lapi_info_t& info);

UdpAddress udp_address(const lapi_udp_t& entry);

class ProgramAddresses final : public AddressSource {
 public:
  // `extension` outlives it.
  explicit ProgramAddresses(const lapi_extend_t& extension) : extension_(extension) {}

  // A handler is asked once for each adapter; a list has one address per task.
  bool for_each_adapter() const override { return extension_.udp_hndlr != nullptr; }
  bool list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) override;

 private:
  bool ask(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure);

  const lapi_extend_t& extension_;
};

}  // namespace openlapi
