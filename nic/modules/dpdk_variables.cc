#include "nic/modules/dpdk_variables.h"

#include <algorithm>

#include "dataplane/base/whole_number.h"

namespace openlapi::dpdk {
namespace {

constexpr std::string_view kBlanks = " \t\n";

template <typename Reader>
bool all_are(std::string_view text, const Reader& read) {
  const std::vector<OfDevice> words = values_of_devices(text);
  return !words.empty() &&
         std::ranges::all_of(words, [&](const OfDevice& word) { return read(word.value).has_value(); });
}

}  // namespace

std::vector<OfDevice> values_of_devices(std::string_view text) {
  std::vector<OfDevice> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t equals = word.find('=');
    const bool named = equals != std::string_view::npos;
    words.push_back({named ? word.substr(0, equals) : std::string_view(), named ? word.substr(equals + 1) : word});
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::optional<std::uint32_t> machine_address(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = whole_number<std::uint8_t>(text.substr(0, end));
    if (!number) return std::nullopt;
    address = address << 8 | *number;
    text.remove_prefix(part < 3 ? end + 1 : end);
  }
  return is_machine_address(address) ? std::optional(address) : std::nullopt;
}

std::optional<OwnAddress> own_address(std::string_view text) {
  if (text == "interface") return OwnAddress{.of_interface = true};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view numbers = text.substr(0, slash);
  OwnAddress own;
  own.plus_task = numbers.ends_with('+');
  if (own.plus_task) numbers.remove_suffix(1);
  const auto address = machine_address(numbers);
  const auto bits = whole_number<unsigned>(text.substr(slash + 1), 1, 32);
  if (!address || !bits) return std::nullopt;
  own.address = *address;
  own.bits = *bits;
  if (!own.plus_task && !is_host_in(own.address, own.bits)) return std::nullopt;
  return own;
}

bool is_vlan(std::string_view text) { return text == "0" || vlan_tag(text).has_value(); }

std::optional<std::uint16_t> vlan_tag(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_priority = colon != std::string_view::npos;
  const auto number = whole_number<std::uint16_t>(text.substr(0, colon), 0, 4094);
  const auto priority =
      has_priority ? whole_number<std::uint16_t>(text.substr(colon + 1), 0, 7) : std::optional<std::uint16_t>(0);
  if (!number || !priority || (*number == 0 && !has_priority)) return std::nullopt;
  return static_cast<std::uint16_t>(*priority << 13 | *number);
}

bool are_own_addresses(std::string_view text) { return all_are(text, own_address); }

bool are_gateways(std::string_view text) { return all_are(text, machine_address); }

}  // namespace openlapi::dpdk
