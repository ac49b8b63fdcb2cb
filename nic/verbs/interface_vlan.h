// The VLAN of a network interface, as the kernel knows it.
#pragma once

#include <cstdint>

namespace openlapi::verbs {

// 0: it has none, or there is no such interface.
std::uint16_t vlan_of_interface(unsigned index);

}  // namespace openlapi::verbs
