#include "nic/dpdk/ethernet_port.h"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/memory_fault_guard.h"
#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/pci_adapters.h"

namespace openlapi::dpdk {
namespace {

// The arguments of devices that were made. Virtual ones are removed with their port, for some cannot be started twice,
// and made again.
std::map<std::string, std::string, std::less<>>& remembered() {
  static auto* const the_one = new std::map<std::string, std::string, std::less<>>;
  return *the_one;
}

// DPDK 22.11 forgets the listening socket of a memif server that is removed, but not to listen to it: its name stays
// taken, and whoever connects to it makes the driver use memory that it has freed. A file is removed, so nobody finds
// it.
bool must_stay(const std::string& device) {
  return device.rfind("net_memif", 0) == 0 && !is_memif_client(device) &&
         device.find("socket-abstract=no") == std::string::npos;
}

// Their drivers are never called again.
std::set<std::string, std::less<>>& gone_devices() {
  static auto* const the_one = new std::set<std::string, std::less<>>;
  return *the_one;
}

}  // namespace

void EthernetPort::where_it_belongs(const std::function<void()>& body) {
  if (begins_with_any(name_, {"net_memif"})) {
    call_in_interrupt_thread(body);
  } else {
    body();
  }
}

EthernetPort::~EthernetPort() {
  if (!open_) return;
  renewal_.wait();
  if (events_.asked_back() && !gone()) give_back();
  events_.forget();
  if (given_back_) {
    const ControlLock lock;
    rte_mempool_free(receive_pool_);
    rte_mempool_free(send_pool_);
    return;
  }
  if (gone() || events_.removed()) {
    const ControlLock lock;
    rte_eth_dev_owner_unset(id_, owner_);
    gone_devices().insert(name_);
    return;
  }
  let_connect();
  const ControlLock lock;
  rte_eth_dev_owner_unset(id_, owner_);
  if (!made_ && !shares_socket()) {
    if (started_) stop();
  } else {
    remove();
    rte_mempool_free(receive_pool_);
    rte_mempool_free(send_pool_);
  }
  take_log();
}

bool EthernetPort::find() {
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) == 0) return true;
  for (std::uint16_t port = rte_eth_find_next(0); port < RTE_MAX_ETHPORTS; port = rte_eth_find_next(port + 1)) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(port, &info) != 0 || info.device == nullptr || name_ != rte_dev_name(info.device))
      continue;
    id_ = port;
    return true;
  }
  return false;
}

PortFault EthernetPort::open(const PortPreference& preference, std::string& reason) {
  const ControlLock lock;
  name_ = name_of(preference.device);
  watched_ = preference.watched;
  preference_ = preference;
  take_log();
  if (const PortFault fault = make(preference, reason); fault != PortFault::none) return fault;
  rte_eth_dev_owner owner{};
  rte_eth_dev_owner_new(&owner_);
  owner.id = owner_;
  std::strncpy(owner.name, "openlapi", sizeof owner.name - 1);
  if (rte_eth_dev_owner_set(id_, &owner) != 0) {
    reason = "DPDK port " + name_ + " is in use by another adapter of this task";
    return PortFault::in_use;
  }
  open_ = true;
  // Which drivers have interrupts shows when they are to be used. Virtual ones have none, but for virtio.
  interrupts_ = !is_virtual(name_) || begins_with_any(name_, {"net_virtio_user"});
  PortFault fault = find_out(reason);
  if (fault != PortFault::none) return fault;
  fault = set_up(preference, reason);
  if (fault == PortFault::unusable && interrupts_) {
    interrupts_ = false;
    fault = set_up(preference, reason);
  }
  if (fault == PortFault::none && !events_.listen(id_, device_name().c_str())) {
    reason = "DPDK port " + name_ + ": no memory to be told of resets";
    return PortFault::no_memory;
  }
  return fault;
}

// All at once for a memif, so that the driver takes no message of a client's before the end.
PortFault EthernetPort::set_up(const PortPreference& preference, std::string& reason) {
  PortFault fault = PortFault::none;
  where_it_belongs([&] {
    disconnect_stopped();
    fault = configure(preference, reason);
    if (fault != PortFault::none) return;
    const int error = start_here();
    if (error == 0 || client_) return;
    reason = described("cannot start DPDK port", name_, error);
    fault = PortFault::unusable;
  });
  return fault;
}

// A memif server that has been stopped takes in clients all the same, with the rings of the queues that it had: with
// new ones the link would be up and nothing arrive. Stopped once more it turns them out, and they come back.
void EthernetPort::disconnect_stopped() {
  if (begins_with_any(name_, {"net_memif"}) && !client_ && rte_eth_dev_start(id_) == 0) rte_eth_dev_stop(id_);
}

PortFault EthernetPort::make(const PortPreference& preference, std::string& reason) {
  if (gone_devices().contains(name_)) {
    reason = "DPDK port " + name_ + " was removed or failed while this process ran, and serves only another process";
    return PortFault::no_device;
  }
  const std::vector<PciAdapter> adapters = list_pci_adapters(kPciDevices);
  const auto adapter = std::ranges::find(adapters, name_, &PciAdapter::address);
  const std::string kernel_driver = adapter == adapters.end() ? std::string() : adapter->driver;
  std::string arguments = completed(preference.device, preference.mtu, kernel_driver);
  const auto known = remembered().find(name_);
  if (find()) {
    const std::string made = made_with();
    if (known != remembered().end() && preference.device != name_ && arguments != made) {
      reason = "DPDK port " + name_ + " was made with other arguments, and stays as it is: " + made;
      return PortFault::in_use;
    }
    arguments = made;
  } else {
    if (known != remembered().end() && preference.device == name_) arguments = known->second;
    const int result = rte_dev_probe(arguments.c_str());
    if (result < 0 || !find()) {
      reason = described("no DPDK port", arguments, result < 0 ? result : ENODEV);
      return PortFault::no_device;
    }
  }
  remembered()[name_] = arguments;
  made_ = is_virtual(name_) && !must_stay(arguments);
  client_ = begins_with_any(name_, {"net_memif"}) && is_memif_client(arguments);
  interface_ = begins_with_any(name_, {"net_af_packet"}) ? argument_of(arguments, "iface") : std::string();
  return PortFault::none;
}

// The device and the arguments that it has.
std::string EthernetPort::made_with() const {
  rte_eth_dev_info info{};
  rte_eth_dev_info_get(id_, &info);
  const rte_devargs* known = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  if (known == nullptr || known->args == nullptr || *known->args == 0) return name_;
  return name_ + "," + known->args;
}

// With another memif, which stays and goes on listening.
bool EthernetPort::shares_socket() const {
  const std::string own = argument_of(made_with(), "socket");
  for (std::uint16_t port = rte_eth_find_next(0); port < RTE_MAX_ETHPORTS; port = rte_eth_find_next(port + 1)) {
    rte_eth_dev_info info{};
    if (port == id_ || rte_eth_dev_info_get(port, &info) != 0 || info.device == nullptr) continue;
    const rte_devargs* known = rte_dev_devargs(info.device);
    if (known == nullptr || known->args == nullptr || !begins_with_any(rte_dev_name(info.device), {"net_memif"}))
      continue;
    if (argument_of("," + std::string(known->args), "socket") == own) return begins_with_any(name_, {"net_memif"});
  }
  return false;
}

// 0, or the error number.
int EthernetPort::start() {
  int error = 0;
  where_it_belongs([&] { error = start_here(); });
  return error;
}

int EthernetPort::start_here() {
  int error = 0;
  if (client_) {
    connection_.watch([&] { error = rte_eth_dev_start(id_); });
  } else {
    error = rte_eth_dev_start(id_);
  }
  started_ = error == 0;
  if (started_ && !interface_.empty()) ring_.find(interface_, mtu_);
  return error;
}

void EthernetPort::stop() {
  up_ = false;
  ring_ = {};
  where_it_belongs([&] { rte_eth_dev_stop(id_); });
  started_ = false;
}

// Stopped and closed at once: a memif server that is stopped takes in a client, and closed it forgets the device, not
// the client, whose next message makes the driver use what it has freed.
void EthernetPort::close() {
  up_ = started_ = false;
  ring_ = {};
  where_it_belongs([&] {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
  });
}

void EthernetPort::remove() {
  rte_eth_dev_info info{};
  rte_eth_dev_info_get(id_, &info);
  close();
  rte_dev_remove(info.device);
}

std::string EthernetPort::device_name() const {
  rte_eth_dev_info info{};
  return rte_eth_dev_info_get(id_, &info) == 0 && info.device != nullptr ? rte_dev_name(info.device) : name_;
}

// A burst that breaks: the driver has marked the link as down before it unmapped anything, which further bursts find,
// and link_check(), which is due then.
std::uint16_t EthernetPort::receive(std::span<rte_mbuf*> buffers) {
  const CancellationOff off;
  const auto most = static_cast<std::uint16_t>(buffers.size());
  if (ring_.may_hold_frames()) [[unlikely]]
    ring_.push();
  if (!unmaps_) return rte_eth_rx_burst(id_, 0, buffers.data(), most);
  std::uint16_t count = 0;
  if (survives([&] { count = rte_eth_rx_burst(id_, 0, buffers.data(), most); })) {
    if (count != 0) heard_ = true;
    return count;
  }
  next_check_ = 0;
  return 0;
}

std::uint16_t EthernetPort::send(std::span<rte_mbuf*> buffers) {
  const CancellationOff off;
  const auto count = static_cast<std::uint16_t>(buffers.size());
  std::uint16_t sent = 0;
  if (!unmaps_) {
    sent = rte_eth_tx_burst(id_, 0, buffers.data(), count);
    ring_.sent(sent);
    return sent;
  }
  if (survives([&] { sent = rte_eth_tx_burst(id_, 0, buffers.data(), count); })) return sent;
  next_check_ = 0;
  return count;
}

}  // namespace openlapi::dpdk
