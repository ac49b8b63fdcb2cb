#include "api/wiring/unlisted_adapter.h"

#include <atomic>
#include <unordered_set>
#include <utility>

#include "dataplane/transport/link_status.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kUnlistedLength = 1;  // no UDP address is so short

bool is_unlisted(const PeerAddress& address) { return address.length == kUnlistedLength; }

class UnlistedAdapter final : public Transport, private LinkStatus {
 public:
  UnlistedAdapter(std::unique_ptr<Transport> inner, std::size_t adapter)
      : inner_(std::move(inner)),
        link_(inner_->capabilities().link_status),
        first_address_(unlisted_address(adapter)) {}

  std::string_view name() const override { return inner_->name(); }
  const TransportLimits& limits() const override { return inner_->limits(); }
  PeerAddress local_address() const override { return has_looked_ ? inner_->local_address() : first_address_; }
  TransportCapabilities capabilities() override {
    TransportCapabilities all = inner_->capabilities();
    all.link_status = this;
    return all;
  }
  TransportCounters counters() const override { return inner_->counters(); }
  void release(std::size_t count) override { inner_->release(count); }
  std::size_t receive_burst(std::span<IncomingPacket> packets) override { return inner_->receive_burst(packets); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    if (is_unlisted(address)) {
      unknown_.insert(peer);
    } else {
      if (!inner_->add_peer(peer, address, error)) return false;
      unknown_.erase(peer);
    }
    changes_.fetch_add(1, std::memory_order_release);
    return true;
  }
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    return unknown_.contains(peer) ? packets.size() : inner_->send_burst(peer, packets);
  }

 private:
  const std::atomic<std::uint32_t>& changes() const override { return changes_; }
  void look() override {
    if (link_ != nullptr) link_->look();
    const std::uint32_t number = link_ != nullptr ? link_->changes().load(std::memory_order_acquire) : 0;
    const bool is_first = !std::exchange(has_looked_, true);
    if (std::exchange(seen_, number) != number || is_first) changes_.fetch_add(1, std::memory_order_release);
  }
  std::uint32_t words_against(PeerIndex peer) const override {
    if (unknown_.contains(peer)) return kNotThereYet;
    return link_ != nullptr ? link_->words_against(peer) : 0;
  }
  const char* told_by(PeerIndex peer) const override {
    if (unknown_.contains(peer)) return "the other task has not told its address";
    return link_ != nullptr ? link_->told_by(peer) : nullptr;
  }
  void path_failed(PeerIndex peer) override {
    if (link_ != nullptr && !unknown_.contains(peer)) link_->path_failed(peer);
  }

  const std::unique_ptr<Transport> inner_;
  LinkStatus* const link_;  // null: it has none
  const PeerAddress first_address_;
  std::unordered_set<PeerIndex> unknown_{};
  bool has_looked_ = false;
  std::uint32_t seen_ = 0;  // of the link's changes
  std::atomic<std::uint32_t> changes_ = 0;
};

}  // namespace

PeerAddress unlisted_address(std::size_t adapter) {
  PeerAddress address;
  address.bytes[0] = static_cast<std::byte>(adapter);
  address.length = kUnlistedLength;
  return address;
}

std::optional<std::size_t> unlisted_adapter(const PeerAddress& address) {
  if (!is_unlisted(address)) return std::nullopt;
  return std::to_integer<std::size_t>(address.bytes[0]);
}

std::string listed_address_text(const PeerAddress& address) {
  return is_unlisted(address) ? "none in the list" : udp_address_text(address);
}

std::unique_ptr<Transport> unlisted(std::unique_ptr<Transport> transport, std::size_t adapter) {
  return std::make_unique<UnlistedAdapter>(std::move(transport), adapter);
}

}  // namespace openlapi
