// What other tasks say of their contexts, before a context sends them anything: values of the bootstrap, which another
// task has put there. A way is taken only to an address that was published as such, byte for byte, and whoever is not
// reached gets a reason.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/routes.h"
#include "dataplane/base/check.h"
#include "nic/dpdk/dpdk_address.h"
#include "tests/fuzz/fuzz_input.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kTasks = 4;

// Keeps what each task is said to have published; what is missing is refused, as after the time-out.
class LyingBootstrap final : public Bootstrap {
 public:
  std::string_view name() const override { return "lies"; }
  std::uint32_t task() const override { return 0; }
  std::uint32_t size() const override { return kTasks; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view, std::span<const std::byte>, std::string&) override { return true; }
  bool exchange(std::string&) override { return true; }
  bool get(std::uint32_t rank, std::string_view key, unsigned, std::vector<std::byte>& value,
           std::string& error) override {
    const auto found = values.find({rank, std::string(key)});
    error = "not published";
    if (found != values.end()) value = found->second;
    return found != values.end();
  }
  bool barrier(std::string&) override { return true; }
  void abort(int, std::string_view) override {}

  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::byte>> values{};

 private:
  std::vector<std::uint32_t> local_{0};
};

// Takes what is an address to a transport that looks at it, or anything.
class Listener final : public Transport {
 public:
  explicit Listener(bool looks) : looks_(looks) {}
  std::string_view name() const override { return "listener"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    OPENLAPI_CHECK(address.length <= PeerAddress::kCapacity);
    dpdk::Address read;
    if (looks_ && !dpdk::decode(address, read, error)) return false;
    taken[peer] = address;
    return true;
  }
  std::size_t send_burst(PeerIndex, std::span<const OutgoingPacket>) override { return 0; }
  std::size_t receive_burst(std::span<IncomingPacket>) override { return 0; }
  void release(std::size_t) override {}
  TransportCapabilities capabilities() override { return {}; }
  TransportCounters counters() const override { return {}; }

  std::map<PeerIndex, PeerAddress> taken{};

 private:
  const bool looks_;
  TransportLimits limits_{1024, 1, false, false};
};

class Job {
 public:
  Job() {
    networks_[2].addresses.resize(kTasks - 1);  // a list that has no entry for the last task
    networks_[2].addresses[1].length = 6;
    networks_[1].own = ChosenAdapter{};  // all that tell where they are can be on its network
    networks_[1].place_of = place_of_ipv4;
    routes_ = std::make_unique<ContextRoutes>(bootstrap_, ContextRoutes::SharedMemory{}, std::span<const int>(),
                                              std::vector(networks_.begin(), networks_.end()), 0);
  }

  void command(FuzzInput& input) {
    const std::uint8_t choice = input.take();
    const std::uint32_t task = choice / 4 % (kTasks + 1);  // the last one is nobody's
    if (choice % 4 < 2) {
      const std::string number = std::to_string(choice / 20 % kMostAdapters);
      const auto bytes = input.take_bytes(input.take());
      if (task < kTasks) bootstrap_->values[{task, networks_[choice % 4].keys + number}] = bytes;
    } else if (choice % 4 == 2) {
      resolve(task);
    } else {
      PeerAddress address;
      const auto bytes = input.take_bytes(input.take());
      address.length = static_cast<std::uint32_t>(std::min(bytes.size(), PeerAddress::kCapacity));
      std::copy_n(bytes.begin(), address.length, address.bytes.begin());
      std::string reason;
      const bool changed = routes_->change_address(task, choice / 64, address, reason);
      OPENLAPI_CHECK(changed || !reason.empty());
      routes_->address_changed(task, address, address);
    }
  }

 private:
  void resolve(std::uint32_t task) {
    for (Listener& listener : listeners_) listener.taken.clear();
    const Route route = routes_->resolve(task);
    OPENLAPI_CHECK(route.count <= route.paths.size() && (route.count != 0 || !route.reason.empty()));
    std::size_t expected = 0;
    for (std::size_t n = 0; n < 2; ++n) {
      expected += listeners_[n].taken.contains(task);
      for (const auto& [number, address] : listeners_[n].taken) {
        if (n == 0) OPENLAPI_CHECK(number == task);
        OPENLAPI_CHECK(number % kTasks == task % kTasks && is_published(task, networks_[n].keys, address));
      }
    }
    expected += listeners_[2].taken.contains(task);
    for (const OtherEnd& end : route.other_ends) {
      OPENLAPI_CHECK(end.path == &listeners_[1] && end.over == end.path && end.number >= task + kTasks);
      OPENLAPI_CHECK(listeners_[1].taken.contains(end.number));
    }
    OPENLAPI_CHECK(route.count == expected);
    const std::string text = routes_->describe(task, reason_);
    OPENLAPI_CHECK(text.empty() == (route.count == 0));
  }

  // As the address of one of the task's adapters.
  bool is_published(std::uint32_t task, const std::string& keys, const PeerAddress& address) const {
    for (std::size_t number = 0; number != kMostAdapters; ++number) {
      const auto found = bootstrap_->values.find({task, keys + std::to_string(number)});
      PublishedAddress published;
      std::string reason;
      if (found == bootstrap_->values.end() || !decode(found->second, published, reason)) continue;
      OPENLAPI_CHECK(encode(published) == found->second && published.address.length != 0);
      if (std::ranges::equal(address.view(), published.address.view())) return true;
    }
    return false;
  }

  std::array<Listener, 3> listeners_{Listener(true), Listener(false), Listener(false)};
  std::array<ContextRoutes::Network, 3> networks_{
      {{&listeners_[0], "a", 0, {}, ""}, {&listeners_[1], "b", 0, {}, ""}, {&listeners_[2], "", 0, {}, "list"}}};
  std::shared_ptr<LyingBootstrap> bootstrap_ = std::make_shared<LyingBootstrap>();
  std::unique_ptr<ContextRoutes> routes_;
  std::string reason_;
};

// What two tasks say of the adapters that the library has chosen there: each end of a path is one of them and ends no
// other path, and both tasks find the same ones.
void pair_up(FuzzInput input) {
  std::vector<ChosenAdapter> lower, higher;
  std::string reason;
  if (!decode(input.take_bytes(input.take()), lower, reason) ||
      !decode(input.take_bytes(input.take()), higher, reason)) {
    OPENLAPI_CHECK(!reason.empty());
    return;
  }
  const std::vector<AdapterPair> pairs = pair_adapters(lower, higher, true);
  const std::vector<AdapterPair> seen_there = pair_adapters(higher, lower, false);
  OPENLAPI_CHECK(pairs.size() == std::min(lower.size(), higher.size()) && pairs.size() == seen_there.size());
  std::set<std::size_t> here, there;
  for (std::size_t n = 0; n != pairs.size(); ++n) {
    OPENLAPI_CHECK(pairs[n].here < lower.size() && here.insert(pairs[n].here).second);
    OPENLAPI_CHECK(pairs[n].there < higher.size() && there.insert(pairs[n].there).second);
    OPENLAPI_CHECK(pairs[n].here == seen_there[n].there && pairs[n].there == seen_there[n].here);
  }
}

}  // namespace
}  // namespace openlapi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  openlapi::FuzzInput input(data, size);
  openlapi::pair_up(input);
  openlapi::Job job;
  while (!input.empty()) job.command(input);
  return 0;
}
