#include "control/daemon/messages/adapter_message.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {
namespace {

bool is_address(const MessageBytes& bytes) { return bytes.size() == 4 || bytes.size() == 16; }

bool is_possible(const AdapterAddress& address) {
  return is_address(address.bytes) && address.prefix <= 8 * address.bytes.size();
}

// It is printed, and stands between quotes in JSON.
bool is_adapter_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestAdapterName && std::ranges::all_of(name, [](unsigned char letter) {
    return letter > 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
  });
}

}  // namespace

bool is_possible(const AdapterStatus& adapter) {
  return is_adapter_name(adapter.name) && adapter.kind <= AdapterKind::kPort &&
         adapter.cause <= AdapterCause::kUnreachable && adapter.addresses.size() <= kMostAdapterAddresses &&
         std::ranges::all_of(adapter.addresses, [](const AdapterAddress& address) { return is_possible(address); });
}

bool is_possible(const PathReport& report) { return is_address(report.here) && is_address(report.there); }

bool is_possible(const DoubtMessage& doubt) {
  return doubt.to < kMostNodes && is_address(doubt.doubted) && is_address(doubt.by);
}

bool is_possible(const NodeAdapters& row) {
  std::set<std::string_view> names;
  return row.node < kMostNodes && row.adapters.size() <= kMostAdapters &&
         std::ranges::all_of(row.adapters, [&](const AdapterStatus& adapter) {
           return is_possible(adapter) && names.insert(adapter.name).second;
         });
}

std::size_t size_of(const NodeAdapters& row) {
  std::size_t size = 20;
  for (const AdapterStatus& adapter : row.adapters) {
    size += kLeastAdapterBytes + adapter.name.size();
    for (const AdapterAddress& address : adapter.addresses) size += 5 + address.bytes.size();
  }
  return size;
}

}  // namespace openlapi::daemon
