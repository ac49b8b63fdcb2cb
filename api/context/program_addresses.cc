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

// Task by task, and of a task in the order of its adapters; or of its first one alone, for all of them.
bool ProgramAddresses::list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) {
  if (extension_.udp_hndlr != nullptr) return ask(place, tasks, failure);
  const std::size_t all = entries(place.tasks);
  const std::size_t for_all_adapters = std::size_t{place.tasks} * place.adapters;
  const bool fits = place.adapters == 1 ? all >= place.tasks : all == place.tasks || all == for_all_adapters;
  if (!fits) {
    std::string allowed = std::to_string(place.tasks) + " tasks: one address for each";
    if (place.adapters > 1) {
      allowed += ", or " + std::to_string(for_all_adapters) + " for the " + std::to_string(place.adapters) +
                 " adapters of each";
    }
    return fail(failure, FailureKind::no_addresses,
                "num_udp_addr is " + std::to_string(all) + ", the job has " + allowed);
  }
  const bool has_all = all == for_all_adapters;
  tasks.clear();
  for (std::size_t task = 0; task != place.tasks; ++task) {
    tasks.push_back(udp_address(extension_.add_udp_addrs[has_all ? task * place.adapters + place.adapter : task]));
  }
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
