#include "control/daemon/adapters/adapter_doubts.h"

#include <algorithm>

namespace openlapi::daemon {
namespace {

constexpr std::chrono::milliseconds kPause{100};   // after a probe, whatever others say
constexpr std::chrono::milliseconds kAgain{1000};  // while nobody answers

const AdapterAddress* address_in(const AdapterStatus& adapter, const MessageBytes& address) {
  const auto found = std::ranges::find(adapter.addresses, address, &AdapterAddress::bytes);
  return found != adapter.addresses.end() ? &*found : nullptr;
}

bool is_on_network(const MessageBytes& address, const AdapterAddress& network) {
  if (address.size() != network.bytes.size()) return false;
  for (std::size_t n = 0; n < address.size(); ++n) {
    const int bits = std::clamp(static_cast<int>(network.prefix) - static_cast<int>(8 * n), 0, 8);
    if (((address[n] ^ network.bytes[n]) & (0xff00 >> bits) & 0xff) != 0) return false;
  }
  return true;
}

bool can_be_probed(const AdapterStatus& adapter) {
  const bool may_work = adapter.is_up() || adapter.cause == AdapterCause::kUnreachable;
  return adapter.kind == AdapterKind::kInterface && may_work;
}

}  // namespace

bool AdapterDoubts::is_own(const MessageBytes& address) const {
  const auto own = table_.rows().find(universe_.here());
  return own != table_.rows().end() && std::ranges::any_of(own->second.adapters, [&](const AdapterStatus& adapter) {
           return address_in(adapter, address) != nullptr;
         });
}

// Whose daemons take them for good come first; this machine would always answer itself. That an address does not answer
// which no daemon has speaks against nobody here: perhaps nobody has it.
std::vector<MessageBytes> AdapterDoubts::others(const AdapterAddress& here, const MessageBytes& first) const {
  std::vector<MessageBytes> up, down;
  if (is_on_network(first, here) && !is_own(first) && table_.node_of(first)) up.push_back(first);
  for (const auto& [node, row] : table_.rows()) {
    for (const AdapterStatus& adapter : row.adapters) {
      for (const AdapterAddress& address : adapter.addresses) {
        if (is_on_network(address.bytes, here) && address.bytes != first && !is_own(address.bytes)) {
          (adapter.is_up() ? up : down).push_back(address.bytes);
        }
      }
      if (up.size() >= kMostAsked) return up;
    }
  }
  up.insert(up.end(), down.begin(), down.end());
  return up;
}

void AdapterDoubts::doubt(const MessageBytes& here, const MessageBytes& there, Time now) {
  const auto own = table_.rows().find(universe_.here());
  if (own == table_.rows().end()) return;
  std::vector<std::string> doubted;  // what is told of one changes the row
  for (const AdapterStatus& adapter : own->second.adapters) {
    if (can_be_probed(adapter) && address_in(adapter, here) != nullptr) doubted.push_back(adapter.name);
  }
  for (const std::string& name : doubted) {
    Doubt& doubt = doubts_[name];
    doubt.here = here;
    doubt.first = there;
    if (!doubt.probe && now >= doubt.next) begin(name, doubt, now);
  }
}

// An adapter that is down by now is no matter of doubt, and against one that is alone on its network nothing is known.
void AdapterDoubts::begin(const std::string& name, Doubt& doubt, Time now) {
  doubt.next = now + kAgain;
  const auto& adapters = table_.rows().at(universe_.here()).adapters;
  const auto adapter = std::ranges::find(adapters, name, &AdapterStatus::name);
  if (adapter == adapters.end() || !can_be_probed(*adapter) || adapter->addresses.empty()) return;
  const AdapterAddress* doubted = address_in(*adapter, doubt.here);
  const AdapterAddress here = doubted != nullptr ? *doubted : adapter->addresses.front();
  const std::vector<MessageBytes> asked = others(here, doubt.first);
  if (asked.empty()) return told_(name, true);
  doubt.probe.emplace(name, here.bytes, asked, now);
}

void AdapterDoubts::end(const std::string& name, Doubt& doubt, Time now) {
  const bool is_reachable = doubt.probe->is_reachable();
  doubt.probe.reset();
  doubt.next = now + (is_reachable ? kPause : kAgain);
  told_(name, is_reachable);
}

void AdapterDoubts::watch(PollSet& poll_set) {
  for (auto& [name, doubt] : doubts_) {
    if (doubt.probe) doubt.probe->watch(poll_set);
  }
}

void AdapterDoubts::tick(Time now) {
  for (auto& [name, doubt] : doubts_) {
    if (!doubt.probe) continue;
    doubt.probe->tick(now);
    if (doubt.probe->is_over(now)) end(name, doubt, now);
  }
  const auto is_due = [&](const Doubt& doubt) { return !doubt.probe && now >= doubt.next; };
  std::erase_if(doubts_, [&](const auto& entry) { return is_due(entry.second) && !is_unreachable(entry.first); });
  for (auto& [name, doubt] : doubts_) {
    if (is_due(doubt)) begin(name, doubt, now);
  }
}

bool AdapterDoubts::is_unreachable(const std::string& name) const {
  const auto& adapters = table_.rows().at(universe_.here()).adapters;
  const auto adapter = std::ranges::find(adapters, name, &AdapterStatus::name);
  return adapter != adapters.end() && adapter->cause == AdapterCause::kUnreachable;
}

std::optional<AdapterDoubts::Time> AdapterDoubts::deadline() const {
  std::optional<Time> first;
  for (const auto& [name, doubt] : doubts_) {
    const Time time = doubt.probe ? doubt.probe->deadline() : doubt.next;
    first = first ? std::min(*first, time) : time;
  }
  return first;
}

}  // namespace openlapi::daemon
