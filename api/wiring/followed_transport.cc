#include "api/wiring/followed_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

// Two descriptors as one.
class BothDescriptors {
 public:
  bool open(int one, int other) {
    descriptor_.reset(epoll_create1(EPOLL_CLOEXEC));
    return add(one) && add(other);
  }
  int get() const { return descriptor_.get(); }
  void forget(int descriptor) { epoll_ctl(descriptor_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

 private:
  bool add(int descriptor) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    return epoll_ctl(descriptor_.get(), EPOLL_CTL_ADD, descriptor, &readable) == 0;
  }
  FileDescriptor descriptor_{};
};

class FollowedTransport final : public Transport, private LinkStatus, private WakeSource {
 public:
  FollowedTransport(std::unique_ptr<Transport> inner, std::shared_ptr<PeerAdapters> adapters, bool wakes,
                    AdapterAddressOf address_of, AdapterKind kind, const PacketAddress& own)
      : inner_(std::move(inner)),
        link_(inner_->capabilities().link_status),
        wake_(inner_->capabilities().wake_source),
        adapters_(std::move(adapters)),
        address_of_(std::move(address_of)),
        kind_(kind),
        own_(own),
        wakes_(wakes && wake_ != nullptr && both_.open(wake_->descriptor(), adapters_->descriptor())) {}

  std::string_view name() const override { return inner_->name(); }
  const TransportLimits& limits() const override { return inner_->limits(); }
  PeerAddress local_address() const override { return inner_->local_address(); }
  TransportCapabilities capabilities() override {
    TransportCapabilities all = inner_->capabilities();
    all.link_status = this;
    if (wakes_) all.wake_source = this;
    return all;
  }
  TransportCounters counters() const override { return inner_->counters(); }
  void release(std::size_t count) override { inner_->release(count); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    if (!inner_->add_peer(peer, address, error)) return false;
    peers_.erase(peer);
    PacketAddress known{};
    if (address_of_(address, known)) peers_[peer] = known;
    return true;
  }
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    return inner_->send_burst(peer, packets);
  }
  std::size_t receive_burst(std::span<IncomingPacket> packets) override { return inner_->receive_burst(packets); }

 private:
  const std::atomic<std::uint32_t>& changes() const override { return changes_; }
  void look() override {
    if (link_ != nullptr) look_at_own();
    adapters_->look();
    address_of_(inner_->local_address(), own_);  // it may have another one now
    count_changes();
  }
  std::uint32_t words_against(PeerIndex peer) const override {
    enum : std::uint32_t { kSeenHere = 1, kOwnTold = 2, kPeersTold = 4 };
    std::uint32_t words = 0;
    if (link_ != nullptr && !link_->reaches(peer)) words |= kSeenHere;
    if (adapters_->is_down(own_, kind_)) words |= kOwnTold;
    const auto found = peers_.find(peer);
    if (found != peers_.end() && adapters_->is_down(found->second, kind_)) words |= kPeersTold;
    return words;
  }
  const char* told_by(PeerIndex peer) const override {
    if (link_ != nullptr && !link_->reaches(peer)) return link_->told_by(peer);
    return reaches(peer) ? nullptr : adapters_->source_name();
  }
  void path_failed(PeerIndex peer) override {
    if (link_ != nullptr) link_->path_failed(peer);
    const auto found = peers_.find(peer);
    if (found != peers_.end()) adapters_->report(own_, found->second);
  }

  int descriptor() const override { return both_.get(); }
  bool immediate() const override { return wake_->immediate(); }
  bool arm() override {
    const bool is_news = adapters_->look_before_sleep();
    if (adapters_->has_ended() && std::exchange(hears_news_, false)) both_.forget(adapters_->descriptor());
    return !is_news && wake_->arm();
  }
  void disarm() override { wake_->disarm(); }

  // An adapter that leads to nobody has no link.
  void look_at_own() {
    link_->look();
    const std::uint32_t number = link_->changes().load(std::memory_order_acquire);
    if (peers_.empty() || std::exchange(own_seen_, number) == number) return;
    adapters_->set_own(own_, std::ranges::any_of(peers_, [this](const auto& of) { return link_->reaches(of.first); }));
  }

  // Also those that others of the context have taken in.
  void count_changes() {
    std::uint32_t number = adapters_->changes().load(std::memory_order_acquire);
    if (link_ != nullptr) number += link_->changes().load(std::memory_order_acquire);
    if (std::exchange(counted_, number) != number) changes_.fetch_add(1, std::memory_order_release);
  }

  const std::unique_ptr<Transport> inner_;
  LinkStatus* const link_;  // null: it has none
  WakeSource* const wake_;
  const std::shared_ptr<PeerAdapters> adapters_;
  const AdapterAddressOf address_of_;
  const AdapterKind kind_;
  PacketAddress own_;
  BothDescriptors both_{};
  const bool wakes_;
  bool hears_news_ = true;  // whoever tells of them lives, as far as is known
  std::unordered_map<PeerIndex, PacketAddress> peers_{};
  std::uint32_t own_seen_ = UINT32_MAX;  // of the link's changes
  std::uint32_t counted_ = 0;
  std::atomic<std::uint32_t> changes_ = 0;
};

}  // namespace

// The first bytes are an IPv4 address.
bool udp_adapter_address(const PeerAddress& address, PacketAddress& found) {
  found = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(found.data() + 12, address.bytes.data(), 4);
  return true;
}

std::unique_ptr<Transport> followed(std::unique_ptr<Transport> transport, std::shared_ptr<PeerAdapters> adapters,
                                    bool wakes, AdapterAddressOf address_of, AdapterKind kind) {
  PacketAddress own{};
  if (adapters == nullptr || !address_of(transport->local_address(), own)) return transport;
  return std::make_unique<FollowedTransport>(std::move(transport), std::move(adapters), wakes, std::move(address_of),
                                             kind, own);
}

}  // namespace openlapi
