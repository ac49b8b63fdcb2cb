#include "control/daemon/adapters/own_adapters.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace openlapi::daemon {
namespace {

std::uint8_t cause_of(const SeenAdapter& seen) {
  if (seen.kind == AdapterKind::kPort) return seen.running ? AdapterCause::kUp : AdapterCause::kPortDown;
  if (!seen.enabled) return AdapterCause::kTakenDown;
  if (!seen.running) return AdapterCause::kNoCarrier;
  return seen.addresses.empty() ? AdapterCause::kNoAddress : AdapterCause::kUp;
}

bool counts(const SeenAdapter& seen) {
  if (seen.kind == AdapterKind::kPort) return true;
  return !seen.addresses.empty() && (!seen.is_bridge || cause_of(seen) == AdapterCause::kUp);
}

void set_cause(AdapterStatus& adapter, std::uint8_t cause, std::uint64_t now) {
  if (adapter.cause == cause) return;
  adapter.cause = cause;
  adapter.since = now;
}

void update(AdapterStatus& adapter, const SeenAdapter& seen, std::uint64_t now) {
  const std::uint8_t cause = cause_of(seen);
  // Of that the kernel knows nothing.
  const bool is_unreachable = cause == AdapterCause::kUp && adapter.cause == AdapterCause::kUnreachable;
  if (!is_unreachable) set_cause(adapter, cause, now);
  if (seen.speed != 0) adapter.speed = seen.speed;
  if (!seen.addresses.empty()) adapter.addresses = seen.addresses;
}

// It was renamed, or made part of another one, as of a bridge: that has its address. The interface of an RDMA port,
// which has it as well, is none.
bool has_moved(const AdapterStatus& adapter, const std::vector<SeenAdapter>& seen) {
  if (adapter.cause != AdapterCause::kRemoved && adapter.cause != AdapterCause::kNoAddress) return false;
  return std::ranges::any_of(seen, [&](const SeenAdapter& other) {
    return other.kind == adapter.kind && other.name != adapter.name &&
           std::ranges::find_first_of(adapter.addresses, other.addresses) != adapter.addresses.end();
  });
}

bool is_forgotten(const AdapterStatus& adapter, std::uint64_t now) {
  constexpr auto kTime = static_cast<std::uint64_t>(std::chrono::milliseconds(kForgetTime).count());
  return adapter.cause == AdapterCause::kRemoved && now > adapter.since && now - adapter.since > kTime;
}

// The kernel takes names with nearly any bytes; in the table each that cannot be printed everywhere is %c3 or the like.
std::string printable(const std::string& name) {
  std::string text;
  for (const char letter : name) {
    if (is_possible(AdapterStatus{std::string(1, letter)})) {
      text += letter;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    text += escaped;
  }
  return text;
}

std::vector<SeenAdapter> with_printable_names(std::vector<SeenAdapter> seen) {
  for (SeenAdapter& adapter : seen) adapter.name = printable(adapter.name);
  return seen;
}

// Those that are gone make place for those that are there.
void shorten(std::vector<AdapterStatus>& adapters) {
  while (adapters.size() > kMostAdapters) {
    const auto gone = std::ranges::find(adapters, AdapterCause::kRemoved, &AdapterStatus::cause);
    adapters.erase(gone != adapters.end() ? gone : adapters.end() - 1);
  }
}

}  // namespace

std::vector<AdapterStatus> marked(std::vector<AdapterStatus> adapters, const std::string& name, bool is_reachable,
                                  std::uint64_t now) {
  const auto adapter = std::ranges::find(adapters, name, &AdapterStatus::name);
  if (adapter == adapters.end()) return adapters;
  const std::uint8_t before = is_reachable ? AdapterCause::kUnreachable : AdapterCause::kUp;
  const std::uint8_t after = is_reachable ? AdapterCause::kUp : AdapterCause::kUnreachable;
  if (adapter->cause == before) set_cause(*adapter, after, now);
  return adapters;
}

std::vector<AdapterStatus> updated(const std::vector<AdapterStatus>& before, const std::vector<SeenAdapter>& found_now,
                                   std::uint64_t now) {
  const std::vector<SeenAdapter> seen = with_printable_names(found_now);
  std::vector<AdapterStatus> after;
  for (AdapterStatus adapter : before) {
    const auto found = std::ranges::find(seen, adapter.name, &SeenAdapter::name);
    if (found != seen.end()) {
      update(adapter, *found, now);
    } else {
      set_cause(adapter, AdapterCause::kRemoved, now);
    }
    if (!is_forgotten(adapter, now) && !has_moved(adapter, seen)) after.push_back(std::move(adapter));
  }
  for (const SeenAdapter& adapter : seen) {
    if (!counts(adapter) || std::ranges::find(after, adapter.name, &AdapterStatus::name) != after.end()) continue;
    const AdapterStatus added{adapter.name, adapter.kind, cause_of(adapter), adapter.speed, now, adapter.addresses};
    if (is_possible(added)) after.push_back(added);
  }
  shorten(after);
  return after;
}

}  // namespace openlapi::daemon
