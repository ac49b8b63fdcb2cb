#include "nic/dpdk/device_preference.h"

#include <algorithm>
#include <cstdlib>

namespace openlapi::dpdk {
namespace {

constexpr std::uint32_t kUsualMtu = 1500;
constexpr std::uint32_t kBesideMtu = 142;      // bytes of a frame in a driver's own memory that are no IP packet
constexpr std::uint32_t kUsualRoom = 2048;     // af_packet's frames, memif's buffers
constexpr std::uint32_t kLongestOfXdp = 3498;  // IP packet
constexpr std::uint32_t kIdsBetweenContexts = 1 << 16;  // of memif
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMemoryToSpare = 64 * kMiB;  // pages that are never touched cost nothing

bool any_of(const std::vector<std::string>& words, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return begins_with_any(word, beginnings); });
}

// Bytes of a buffer in a driver's own memory: the frame and what the kernel says of it. Four of them are whole pages.
std::uint32_t frame_room(std::uint32_t mtu) { return std::max(kUsualRoom, (mtu + kBesideMtu + 1023) / 1024 * 1024); }

// 0: what the user said is no room for anything.
std::uint32_t mtu_in(std::string_view device, std::string_view key) {
  const std::string said = argument_of(device, key);
  const unsigned long room = said.empty() ? kUsualRoom : std::min(std::strtoul(said.c_str(), nullptr, 10), 65535ul);
  return room > kBesideMtu ? static_cast<std::uint32_t>(room) - kBesideMtu : 0;
}

void add_memory(const std::vector<std::string>& users, const EnvironmentFacts& facts,
                std::vector<std::string>& result) {
  const bool decided = decides_pages(users);
  const bool sized = any_of(users, {"-m", "--socket-mem"});
  if (!decided && facts.huge_pages_suffice) {
    result.emplace_back("--in-memory");
  } else if (!decided) {
    result.emplace_back("--no-huge");
  }
  const bool ordinary = (!decided && !facts.huge_pages_suffice) || any_of(users, {"--no-huge"});
  if (ordinary && !any_of(users, {"--no-shconf"})) result.emplace_back("--no-shconf");
  if (ordinary && !sized) {
    result.emplace_back("-m");
    result.push_back(std::to_string((facts.needed_bytes + kMemoryToSpare + kMiB - 1) / kMiB));
  }
}

}  // namespace

std::string_view name_of(std::string_view device) { return device.substr(0, device.find(',')); }

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.substr(0, beginning.size()) == beginning; });
}

bool is_virtual(std::string_view device) { return begins_with_any(device, {"net_", "eth_"}); }

bool has_argument(std::string_view device, std::string_view key) {
  for (std::size_t at = device.find(','); at != std::string_view::npos; at = device.find(',', at)) {
    const std::string_view rest = device.substr(++at);
    if (rest.substr(0, key.size()) == key && rest.substr(key.size(), 1) == "=") return true;
  }
  return false;
}

std::string argument_of(std::string_view device, std::string_view key) {
  const std::size_t at = device.find("," + std::string(key) + "=");
  if (at == std::string_view::npos) return {};
  const std::string_view value = device.substr(at + key.size() + 2);
  return std::string(value.substr(0, value.find(',')));
}

std::uint32_t mtu_of(std::string_view device, std::uint32_t interface_mtu, bool made) {
  if (begins_with_any(device, {"net_memif"})) return has_argument(device, "bsize") ? mtu_in(device, "bsize") : 0;
  if (begins_with_any(device, {"net_af_xdp"})) return std::min(interface_mtu, kLongestOfXdp);
  if (!begins_with_any(device, {"net_af_packet"})) return 0;
  return made || has_argument(device, "framesz") ? std::min(interface_mtu, mtu_in(device, "framesz")) : interface_mtu;
}

std::uint32_t mtu_of_port(const MtuFacts& facts) {
  std::uint32_t mtu = std::min(facts.wanted != 0 ? facts.wanted : kUsualMtu, facts.most);
  if (facts.kernel != 0) mtu = std::min(mtu, facts.kernel);
  return std::max(mtu, facts.least);
}

bool is_memif(std::string_view device) { return device.starts_with("net_memif"); }

bool is_memif_client(std::string_view arguments) {
  return arguments.find("role=server") == std::string_view::npos &&
         arguments.find("role=master") == std::string_view::npos;
}

std::string completed(std::string_view device, std::uint32_t mtu, std::string_view kernel_driver) {
  std::string result(device);
  const auto add = [&](std::string_view key, std::uint32_t value) {
    if (!has_argument(device, key)) result += "," + std::string(key) + "=" + std::to_string(value);
  };
  if (kernel_driver == "mlx5_core") add("txqs_min_inline", 0);
  if (mtu <= kUsualMtu) return result;
  if (begins_with_any(device, {"net_memif"})) add("bsize", frame_room(mtu));
  if (begins_with_any(device, {"net_af_packet"}) && !has_argument(device, "framesz")) {
    add("framesz", frame_room(mtu));
    add("blocksz", 4 * frame_room(mtu));
  }
  return result;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

std::string memif_of_instance(std::string_view device, std::uint32_t instance) {
  const std::string_view name = name_of(device);
  if (instance == 1) return std::string(device);
  const std::string id = argument_of(device, "id");
  const unsigned long first = std::strtoul(id.c_str(), nullptr, 10);
  std::string arguments(device.substr(name.size()));
  if (const std::size_t at = arguments.find(",id="); at != std::string::npos) arguments.erase(at, 4 + id.size());
  return std::string(name) + "_context" + std::to_string(instance) + arguments +
         ",id=" + std::to_string(first + kIdsBetweenContexts * (instance - 1));
}

std::vector<std::string> named_devices(const std::vector<std::string>& words) {
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view option : {"--vdev", "--allow", "-a"}) {
      const bool lone = words[i] == option;
      if (lone && i + 1 < words.size()) {
        devices.push_back(words[++i]);
      } else if (!lone && option != "-a" && words[i].rfind(std::string(option) + "=", 0) == 0) {
        devices.push_back(words[i].substr(option.size() + 1));
      } else {
        continue;
      }
      break;
    }
  }
  return devices;
}

bool decides_pages(const std::vector<std::string>& users) {
  return any_of(users, {"--in-memory", "--no-huge", "--huge-dir", "--huge-unlink", "--legacy-mem"});
}

std::vector<std::string> eal_arguments(const std::vector<std::string>& users, const EnvironmentFacts& facts) {
  std::vector<std::string> result = {"openlapi"};
  add_memory(users, facts, result);
  // One lcore, on which nothing ever runs: EAL would make a thread for every processor.
  if (!any_of(users, {"-l", "-c", "--lcores"})) {
    result.push_back("--lcores=0@" + std::to_string(facts.processor));
  }
  // No device that the user did not name; this one is never a network adapter.
  if (!any_of(users, {"-a", "-b", "--allow", "--block", "--no-pci"})) {
    result.emplace_back("-a");
    result.emplace_back("0000:00:00.0");
  }
  if (!any_of(users, {"--file-prefix"})) result.push_back("--file-prefix=" + facts.unique_name);
  if (!any_of(users, {"--telemetry", "--no-telemetry"})) result.emplace_back("--no-telemetry");
  result.insert(result.end(), users.begin(), users.end());
  return result;
}

}  // namespace openlapi::dpdk
