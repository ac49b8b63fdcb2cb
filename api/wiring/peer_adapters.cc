#include "api/wiring/peer_adapters.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "api/wiring/info_level.h"
#include "api/wiring/networks.h"
#include "control/client/adapter_watch.h"

namespace openlapi {
namespace {

constexpr unsigned kLooksOfDaemon = 256;                                  // who never sleeps asks whether it lives, too
constexpr PacketAddress kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // what such addresses begin with
constexpr std::size_t kBeforeIpv4 = 12;

// As the daemon has it.
std::span<const std::uint8_t> bytes_of(const PacketAddress& address) {
  const bool is_ipv4 = std::equal(kIpv4.begin(), kIpv4.begin() + kBeforeIpv4, address.begin());
  return std::span(address).subspan(is_ipv4 ? kBeforeIpv4 : 0);
}

}  // namespace

PeerAdapters::PeerAdapters(std::unique_ptr<AdapterSource> source, std::function<void()> when_ended)
    : source_(std::move(source)), when_ended_(std::move(when_ended)) {
  read();
}

// An address may be on several networks that do not know each other. Of the two kinds one tells of the other where that
// is not known: tasks say of an address only whether it is down.
void PeerAdapters::read() {
  std::vector<AdapterPlace> places;
  if (!source_->read(places, seen_)) return;
  std::array<std::set<PacketAddress>, 2> up, down;
  for (const AdapterPlace& place : places) {
    PacketAddress address = kIpv4;
    if (place.length != 4 && place.length != address.size()) continue;
    std::copy_n(place.address.begin(), place.length, address.end() - place.length);
    const std::size_t kind = place_of(place.is_port != 0 ? AdapterKind::port : AdapterKind::interface);
    (place.is_up != 0 ? up : down)[kind].insert(address);
  }
  for (std::size_t kind = 0; kind != down_.size(); ++kind) {
    const std::size_t other = 1 - kind;
    down_[kind] = down[kind];
    std::ranges::copy_if(down[other], std::inserter(down_[kind], down_[kind].end()),
                         [&](const PacketAddress& address) { return !up[other].contains(address); });
    std::erase_if(down_[kind], [&](const PacketAddress& address) { return up[kind].contains(address); });
  }
  changes_.fetch_add(1, std::memory_order_release);
}

bool PeerAdapters::look() {
  if (ended_) return false;
  if (++looks_ % kLooksOfDaemon == 0 && has_now_ended()) return true;
  if (source_->changes().load(std::memory_order_acquire) == seen_) return false;
  const std::uint32_t before = changes_.load(std::memory_order_relaxed);
  read();
  return changes_.load(std::memory_order_relaxed) != before;
}

bool PeerAdapters::look_before_sleep() {
  if (ended_) return false;
  return has_now_ended() || look();
}

bool PeerAdapters::has_now_ended() {
  ended_ = !source_->drain();
  if (!ended_) return false;
  down_ = {};
  changes_.fetch_add(1, std::memory_order_release);
  if (when_ended_) when_ended_();
  return true;
}

void PeerAdapters::report(PacketAddress here, PacketAddress there) {
  if (!ended_) source_->report(bytes_of(here), bytes_of(there));
}

void PeerAdapters::set_own(PacketAddress address, bool is_up) {
  if (!ended_) source_->set_own(address, is_up);
}

std::shared_ptr<PeerAdapters> open_peer_adapters(const NetworkRequest& request) {
  std::string ignored;
  if (std::unique_ptr<AdapterSource> daemon = AdapterWatch::open({}, ignored); daemon != nullptr) {
    std::function<void()> when_ended;
    if (request.bootstrap.task() == request.bootstrap.local_tasks().front()) {
      when_ended = [tell_listener = request.tell, level = request.settings.info_level] {
        tell(tell_listener, Notice::failover_without_matrix, level,
             "The daemon of this node (lamd) has ended, and with it what it has told of adapters.");
      };
    }
    return std::make_shared<PeerAdapters>(std::move(daemon), std::move(when_ended));
  }
  std::unique_ptr<AdapterSource> tasks = request.bootstrap.open_adapter_events();
  return tasks != nullptr ? std::make_shared<PeerAdapters>(std::move(tasks)) : nullptr;
}

}  // namespace openlapi
