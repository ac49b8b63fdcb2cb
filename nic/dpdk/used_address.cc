#include "nic/dpdk/used_address.h"

#include <map>

namespace openlapi::dpdk {
namespace {

struct Use {
  std::uint32_t address = 0;
  MacAddress mac{};
  std::string port;
};

// Never destroyed: transports may be, after main().
std::map<const UsedAddress*, Use>& uses() {
  static auto* const the_one = new std::map<const UsedAddress*, Use>;
  return *the_one;
}

}  // namespace

void UsedAddress::give_back() {
  if (taken_) uses().erase(this);
  taken_ = false;
}

bool UsedAddress::take(std::uint32_t address, const MacAddress& mac, const std::string& port, std::string& user) {
  for (const auto& [owner, use] : uses()) {
    if (owner == this || use.address != address || use.mac == mac) continue;
    user = use.port;
    return false;
  }
  uses()[this] = {address, mac, port};
  taken_ = true;
  return true;
}

}  // namespace openlapi::dpdk
