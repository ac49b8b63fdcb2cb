#include "nic/verbs/traffic_class.h"

#include <fstream>
#include <optional>

#include "dataplane/base/whole_number.h"

namespace openlapi::verbs {
namespace {

// What mlx5's own driver (OFED) keeps: lines, of which one is "Global tclass=106".
std::optional<std::uint8_t> of_driver(const std::string& path) {
  constexpr std::string_view kGlobal = "Global tclass=";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kGlobal)) return whole_number<std::uint8_t>(std::string_view(line).substr(kGlobal.size()));
  }
  return std::nullopt;
}

// What the kernel's connection manager gives its connections; 0 unless somebody has set it.
std::optional<std::uint8_t> of_connection_manager(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  if (!std::getline(file, line)) return std::nullopt;
  const auto number = whole_number<std::uint8_t>(line);
  return number && *number != 0 ? number : std::nullopt;
}

}  // namespace

std::uint8_t system_traffic_class(const std::string& device, std::uint32_t port, Fabric fabric,
                                  const std::string& system) {
  if (fabric != Fabric::roce_v2) return 0;
  const std::string number = std::to_string(port);
  const auto driver = of_driver(system + "/sys/class/infiniband/" + device + "/tc/" + number + "/traffic_class");
  if (driver) return *driver;
  return of_connection_manager(system + "/sys/kernel/config/rdma_cm/" + device + "/ports/" + number +
                               "/default_roce_tos")
      .value_or(kUsualTrafficClass);
}

}  // namespace openlapi::verbs
