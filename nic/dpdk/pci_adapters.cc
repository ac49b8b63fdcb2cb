#include "nic/dpdk/pci_adapters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nic/dpdk/network_interface.h"

namespace openlapi::dpdk {
namespace {

namespace fs = std::filesystem;
constexpr const char* kEthernetClass = "0x0200";  // network controller, Ethernet; two more digits follow

bool is_any(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* other) { return word == other; });
}

std::string first_entry(const fs::path& folder) {
  std::error_code missing;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, missing)) names.push_back(entry.path().filename());
  return names.empty() ? std::string() : *std::min_element(names.begin(), names.end());
}

// A virtio adapter has its interface one step further down.
std::string interface_of(const fs::path& device) {
  std::string name = first_entry(device / "net");
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(device, missing)) {
    if (name.empty() && entry.path().filename().string().starts_with("virtio"))
      name = first_entry(entry.path() / "net");
  }
  return name;
}

// As open() will find it: access() asks for the user who has started the program.
bool may_open(const fs::path& file) { return faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0; }

// A driver that programs share an adapter with takes flow rules only of who may send anything.
std::string lacks(const PciAdapter& adapter, const fs::path& device, const fs::path& groups) {
  if (adapter.shared() && !packet_sockets_allowed()) return kNoPacketSockets;
  std::error_code missing;
  const fs::path group = fs::read_symlink(device / "iommu_group", missing).filename();
  if (adapter.driver != "vfio-pci" || group.empty()) return {};
  const fs::path file = groups / group;
  if (may_open(file)) return {};
  const int error = errno;
  // A machine without an IOMMU has it under another name.
  if (may_open(groups / ("noiommu-" + group.string()))) return {};
  return "this task may not open " + file.string() + ": " + std::strerror(error);
}

}  // namespace

bool PciAdapter::given() const { return is_any(driver, {"vfio-pci", "uio_pci_generic", "igb_uio"}); }

bool PciAdapter::shared() const { return is_any(driver, {"mlx5_core", "mlx4_core"}); }

std::vector<PciAdapter> list_pci_adapters(const std::string& folder, const std::string& groups) {
  std::vector<PciAdapter> adapters;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    std::string kind;
    std::ifstream(entry.path() / "class") >> kind;
    if (!kind.starts_with(kEthernetClass)) continue;
    const fs::path driver = fs::read_symlink(entry.path() / "driver", missing);
    adapters.push_back({entry.path().filename(), driver.filename(), interface_of(entry.path())});
    adapters.back().lacks = lacks(adapters.back(), entry.path(), groups);
  }
  std::sort(adapters.begin(), adapters.end(),
            [](const PciAdapter& one, const PciAdapter& other) { return one.address < other.address; });
  return adapters;
}

bool is_given(const std::string& address, const std::vector<PciAdapter>& adapters) {
  const std::string whole = pci_address(address);
  return std::any_of(adapters.begin(), adapters.end(),
                     [&](const PciAdapter& adapter) { return adapter.address == whole && adapter.given(); });
}

std::string pci_address(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int length = -1;
  const bool whole = std::sscanf(text.c_str(), "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) == 4 &&
                     length == static_cast<int>(text.size());
  domain = whole ? domain : 0;
  if (!whole && (std::sscanf(text.c_str(), "%2x:%2x.%1x%n", &bus, &device, &function, &length) != 3 ||
                 length != static_cast<int>(text.size()))) {
    return {};
  }
  if (device > 31 || function > 7) return {};
  char address[sizeof "0000:00:00.0"];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", domain & 0xffffu, bus & 0xffu, device & 0x1fu,
                function & 7u);
  return address;
}

}  // namespace openlapi::dpdk
