// A task of two with two adapters, whose transports record where they are to lead.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/wiring/routes.h"

namespace openlapi {

// One of two tasks, task 0 if nothing else is said; what the other one has published.
class TwoTasks final : public Bootstrap {
 public:
  explicit TwoTasks(std::uint32_t task = 0) : task_(task) {}
  std::string_view name() const override { return "two tasks"; }
  std::uint32_t task() const override { return task_; }
  std::uint32_t size() const override { return 2; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view, std::span<const std::byte>, std::string&) override { return true; }
  bool exchange(std::string&) override { return true; }
  bool get(std::uint32_t, std::string_view key, unsigned, std::vector<std::byte>& value, std::string& error) override {
    const auto found = published.find(std::string(key));
    waits += found == published.end();
    ++asked;
    error = "not published";
    if (found != published.end()) value = found->second;
    return found != published.end();
  }
  bool barrier(std::string&) override { return true; }
  void abort(int, std::string_view) override {}

  std::map<std::string, std::vector<std::byte>> published{};
  int waits = 0;  // for what never comes
  int asked = 0;

 private:
  const std::uint32_t task_;
  std::vector<std::uint32_t> local_{task_};
};

class RecordingTransport final : public Transport, private PeerSearch {
 public:
  std::string_view name() const override { return "recording"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex number, const PeerAddress& address, std::string&) override {
    if (answer != Answer::yes) return false;
    ++added;
    addresses[number].assign(reinterpret_cast<const char*>(address.bytes.data()), address.length);
    return true;
  }
  std::size_t send_burst(PeerIndex, std::span<const OutgoingPacket>) override { return 0; }
  std::size_t receive_burst(std::span<IncomingPacket>) override { return 0; }
  void release(std::size_t) override {}
  TransportCapabilities capabilities() override { return {.peer_search = this}; }
  TransportCounters counters() const override { return {}; }

  enum class Answer { yes, no, not_yet } answer = Answer::yes;
  std::map<PeerIndex, std::string> addresses{};
  int added = 0;

 private:
  bool is_undecided() const override { return answer == Answer::not_yet; }

  TransportLimits limits_{1024, 1, false, false};
};

inline std::vector<std::byte> published_address(const std::string& text, bool chosen, std::uint8_t adapters,
                                                bool placed = false) {
  PublishedAddress published{.epoch = 1, .address = {}, .chosen = chosen, .placed = placed, .adapters = adapters};
  std::memcpy(published.address.bytes.data(), text.data(), text.size());
  published.address.length = static_cast<std::uint32_t>(text.size());
  return encode(published);
}

inline ChosenAdapter chosen(const char* address) { return {{inet_addr(address)}, {inet_addr("255.255.255.0")}}; }

// This task's adapters, and what becomes of a task that has some, too.
class TwoAdapters {
 public:
  TwoAdapters() {
    for (std::size_t n = 0; n != 2; ++n) {
      networks[n].transport = &transports[n];
      networks[n].keys = address_keys(1, 0);
      networks[n].number = n;
    }
  }

  void publish(const std::vector<std::string>& addresses, bool chosen, bool placed = false) {
    for (std::size_t n = 0; n != addresses.size(); ++n) {
      tasks->published[networks[0].keys + std::to_string(n)] =
          published_address(addresses[n], chosen, static_cast<std::uint8_t>(addresses.size()), placed);
    }
  }

  Route resolve() { return ContextRoutes(tasks, {}, {}, networks, 0).resolve(1); }

  std::shared_ptr<TwoTasks> tasks = std::make_shared<TwoTasks>();
  std::array<RecordingTransport, 2> transports{};
  std::vector<ContextRoutes::Network> networks{2};
};

}  // namespace openlapi
