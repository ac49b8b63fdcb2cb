#include "nic/modules/verbs_variables.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace openlapi::verbs {
namespace {

constexpr unsigned kIpv4Begin = 96;  // bits of a GID before the IPv4 address in it

}  // namespace

std::optional<GidPrefix> gid_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string address(text.substr(0, slash));
  GidPrefix prefix;
  std::array<std::uint8_t, 4> ipv4{};
  const bool is_ipv4 = inet_pton(AF_INET, address.c_str(), ipv4.data()) == 1;
  if (!is_ipv4 && inet_pton(AF_INET6, address.c_str(), prefix.gid.data()) != 1) return std::nullopt;
  const auto bits = whole_number<unsigned>(text.substr(slash + 1), 1, is_ipv4 ? 32 : 128);
  if (!bits) return std::nullopt;
  if (is_ipv4) {
    prefix.gid[10] = prefix.gid[11] = 0xff;
    std::ranges::copy(ipv4, prefix.gid.begin() + kIpv4Begin / 8);
  }
  prefix.bits = *bits + (is_ipv4 ? kIpv4Begin : 0);
  return prefix;
}

}  // namespace openlapi::verbs
