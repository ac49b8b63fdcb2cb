#include "api/context/program_addresses.h"

#include <algorithm>
#include <string>
#include <vector>

namespace openlapi {

bool gives_addresses(const lapi_info_t& info) {
  const lapi_extend_t* extension = info.add_info;
  return extension != nullptr && (extension->udp_hndlr != nullptr || extension->add_udp_addrs != nullptr);
}

UdpAddress udp_address(const lapi_udp_t& entry) { return {in_addr{entry.ip_addr}, entry.port_no}; }

bool ProgramAddresses::list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) {
  if (for_each_adapter()) return ask(place, tasks, failure);
  const std::size_t entries =
      extension_.num_udp_addr > 0 ? static_cast<std::size_t>(extension_.num_udp_addr) : place.tasks;
  if (entries < place.tasks) {
    return fail(failure, FailureKind::no_addresses,
                "num_udp_addr is " + std::to_string(entries) + ", the job has " + std::to_string(place.tasks) +
                    " tasks: one address for each");
  }
  tasks.resize(place.tasks);
  std::transform(extension_.add_udp_addrs, extension_.add_udp_addrs + place.tasks, tasks.begin(), udp_address);
  return true;
}

bool ProgramAddresses::ask(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) {
  std::vector<lapi_udp_t> entries(place.tasks);
  lapi_handle_t handle = 0;
  lapi_udp_t own{place.address.s_addr, 0};
  lapi_udpinfo_t about{place.task, place.tasks, place.adapter};
  const int result = extension_.udp_hndlr(&handle, &own, entries.data(), &about);
  if (result != 0) {
    return fail(failure, FailureKind::address_source, "the UDP handler returned " + std::to_string(result));
  }
  tasks.resize(place.tasks);
  std::transform(entries.begin(), entries.end(), tasks.begin(), udp_address);
  return true;
}

}  // namespace openlapi
