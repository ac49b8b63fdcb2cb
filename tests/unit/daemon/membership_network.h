// Whole universes of daemons in one process, over a network that delivers in an order drawn from a seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "control/daemon/membership/membership.h"

namespace openlapi::daemon {

class Network {
 public:
  Network(std::uint32_t count, std::uint32_t seed, std::uint32_t degree = 4) : degree_(degree), random_(seed) {
    std::vector<UniverseNode> nodes(count);
    for (UniverseNode& node : nodes) node.state = NodeState::kMember;
    for (std::uint32_t n = 0; n < count; ++n) daemons_.push_back(std::make_unique<Daemon>(*this, nodes, n, false));
  }

  void start() {
    for (auto& daemon : daemons_) daemon->membership.start();
  }
  // As SIGKILL does: nothing more from it but the ends of its connections.
  void kill(std::uint32_t node) { end(node); }
  // As SIGSTOP and SIGCONT do: its connections stay, and what comes over them waits.
  void stop(std::uint32_t node) { daemons_[node]->stopped = true; }
  void go_on(std::uint32_t node) { daemons_[node]->stopped = false; }
  void halt(std::uint32_t node) { daemons_[node]->membership.halt(); }
  void shrink(std::uint32_t node, std::uint32_t by) { daemons_[by]->membership.shrink(node, 5); }
  // A daemon is booted as `number`, and knows what lamgrow saw at its sponsor.
  void grow(std::uint32_t number, std::uint32_t sponsor) {
    std::vector<UniverseNode> nodes(std::max<std::size_t>(number + 1, daemons_.size()));
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (n == number || table(sponsor).is_member(n)) nodes[n].state = NodeState::kMember;
    }
    nodes[number].port = 1000 + ++grown_;
    NodeRecord record{number, nodes[number]};
    if (number == daemons_.size()) daemons_.emplace_back();
    daemons_[number] = std::make_unique<Daemon>(*this, nodes, number, true);
    daemons_[number]->membership.start();
    daemons_[sponsor]->membership.grow(record);
  }

  // From now on no connection from one to the other is made.
  void cut(std::uint32_t from, std::uint32_t to) { cut_.insert({from, to}); }
  // A long time in which nothing happens, nor is there anything to wait for.
  void idle() { now_ += std::chrono::hours(1); }
  // It looks whether it is time for something.
  void tick(std::uint32_t node) { daemons_[node]->membership.tick(now_); }
  void agent_gone(std::uint32_t node) { daemons_[node]->membership.agent_gone(); }

  // One delivery, drawn by lot; when nothing is under way the time goes on to the next deadline. False: all is quiet.
  bool step() { return deliver_one() || pass_time(); }
  // Until nothing is under way; no time passes.
  void settle() {
    while (deliver_one()) {
    }
  }
  bool deliver_one() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready;
    for (const auto& [link, items] : channels_) {
      if (!items.empty() && !daemons_[link.second]->stopped) ready.push_back(link);
    }
    if (ready.empty()) return false;
    const auto link = ready[random_() % ready.size()];
    Item item = std::move(channels_[link].front());
    channels_[link].pop_front();
    deliver(link.first, link.second, item);
    return true;
  }
  void run() {
    for (int steps = 0; step(); ++steps) ASSERT_LT(steps, 1'000'000) << "it does not come to rest";
  }

  bool lives(std::uint32_t node) const { return daemons_[node]->lives; }
  bool is_joining(std::uint32_t node) const { return daemons_[node]->membership.is_joining(); }
  bool is_linked(std::uint32_t node) const { return daemons_[node]->linked_told; }
  const UniverseTable& table(std::uint32_t node) const { return daemons_[node]->table; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(daemons_.size()); }
  const std::set<std::uint32_t>& joined(std::uint32_t node) const { return daemons_[node]->joined; }
  // Whose ends it has heard of when it ended itself.
  const std::set<std::uint32_t>& ended(std::uint32_t node) const { return daemons_[node]->ended_nodes; }
  // Whose silence it has heard of by then.
  const std::set<std::uint32_t>& silent(std::uint32_t node) const { return daemons_[node]->silent_nodes; }
  Time now() const { return now_; }
  std::size_t most_sent() const {
    std::size_t most = 0;
    for (const auto& daemon : daemons_) most = std::max(most, daemon->sent);
    return most;
  }
  std::size_t most_bytes() const {
    std::size_t most = 0;
    for (const auto& daemon : daemons_) most = std::max(most, daemon->bytes);
    return most;
  }
  std::size_t living() const {
    return static_cast<std::size_t>(std::ranges::count_if(daemons_, [](const auto& daemon) { return daemon->lives; }));
  }

 private:
  struct Item {
    // Who accepts sends its list at once, and may be heard before it hears the other's.
    enum class Kind { kConnect, kGreeting, kLink, kMessage, kClose } kind;
    std::vector<NodeRecord> changes{};
    DaemonMessage message{};
  };

  struct Daemon final : MembershipLinks {
    Daemon(Network& network_, const std::vector<UniverseNode>& nodes, std::uint32_t here_, bool joins)
        : network(network_),
          here(here_),
          table(nodes, 0, here_, network_.degree_),
          membership(
              table, *this, [&network_] { return network_.now_; }, joins) {}
    bool runs() const { return lives && !stopped; }
    void connect(std::uint32_t node) override {
      connecting.insert(node);
      network.channels_[{here, node}].push_back({Item::Kind::kConnect, table.changes()});
    }
    void send(std::uint32_t node, const DaemonMessage& message) override {
      ASSERT_TRUE(up.contains(node)) << here << " to " << node;
      ++sent;
      bytes += encode(message).size();
      network.channels_[{here, node}].push_back({Item::Kind::kMessage, {}, message});
    }
    void close(std::uint32_t node) override {
      if (connecting.erase(node) > 0) network.take_connection_back(here, node);
      if (up.erase(node) > 0) network.channels_[{here, node}].push_back({Item::Kind::kClose});
    }
    void universe_linked() override {
      EXPECT_FALSE(linked_told);
      linked_told = true;
    }
    void node_lost(std::uint32_t) override {}
    void node_changed(std::uint32_t) override {}
    void node_joined(std::uint32_t node) override { joined.insert(node); }
    void ended(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) override {
      ended_nodes = nodes;
      silent_nodes = silent;
      network.end(here);
    }

    Network& network;
    std::uint32_t here;
    UniverseTable table;
    Membership membership;
    std::set<std::uint32_t> up{}, connecting{}, accepted{}, joined{};
    bool lives = true, linked_told = false;
    bool stopped = false;
    std::set<std::uint32_t> ended_nodes{}, silent_nodes{};
    std::size_t sent = 0, bytes = 0;
  };

  void end(std::uint32_t node) {
    Daemon& daemon = *daemons_[node];
    if (!daemon.lives) return;
    daemon.lives = false;
    for (const auto& set : {daemon.up, daemon.connecting, daemon.accepted}) {
      for (const std::uint32_t other : set) channels_[{node, other}].push_back({Item::Kind::kClose});
    }
  }

  void deliver(std::uint32_t from, std::uint32_t to, const Item& item) {
    Daemon& sender = *daemons_[from];
    Daemon& receiver = *daemons_[to];
    if (item.kind == Item::Kind::kConnect && sender.lives && cut_.contains({from, to})) return fail(from, to);
    if (!receiver.lives) {
      if (item.kind == Item::Kind::kConnect && sender.lives) fail(from, to);
      return;
    }
    switch (item.kind) {
      case Item::Kind::kConnect:
        if (sender.lives) channels_[{to, from}].push_back({Item::Kind::kLink, receiver.table.changes()});
        channels_[{from, to}].push_front({Item::Kind::kGreeting, item.changes});
        receiver.accepted.insert(from);
        break;
      case Item::Kind::kGreeting:
        receiver.accepted.erase(from);
        take_up(receiver, from, item.changes);
        break;
      case Item::Kind::kLink:
        receiver.connecting.erase(from);
        take_up(receiver, from, item.changes);
        break;
      case Item::Kind::kMessage:
        if (receiver.up.contains(from)) receiver.membership.take(from, item.message);
        break;
      case Item::Kind::kClose:
        if (receiver.connecting.contains(from)) return fail(to, from);
        if (receiver.up.erase(from) > 0) receiver.membership.link_down(from);
    }
  }

  void take_connection_back(std::uint32_t from, std::uint32_t to) {
    const auto is_of_it = [](const Item& item) {
      return item.kind == Item::Kind::kConnect || item.kind == Item::Kind::kGreeting || item.kind == Item::Kind::kLink;
    };
    std::erase_if(channels_[{from, to}], is_of_it);
    std::erase_if(channels_[{to, from}], is_of_it);
    channels_[{from, to}].push_back({Item::Kind::kClose});
  }

  void fail(std::uint32_t node, std::uint32_t other) {
    daemons_[node]->connecting.erase(other);
    daemons_[node]->membership.connect_failed(other);
  }

  void take_up(Daemon& daemon, std::uint32_t from, const std::vector<NodeRecord>& changes) {
    const bool was_up = !daemon.up.insert(from).second;
    if (daemon.membership.link_up(from, changes) || was_up) return;
    if (!daemon.lives) return;
    channels_[{daemon.here, from}].push_back({Item::Kind::kMessage, {}, LostMessage{from}});
    daemon.close(from);
  }

  bool pass_time() {
    std::optional<Time> next;
    for (const auto& daemon : daemons_) {
      const auto deadline = daemon->runs() ? daemon->membership.deadline() : std::nullopt;
      if (deadline && (!next || *deadline < *next)) next = deadline;
    }
    if (!next) return false;
    now_ = *next;
    for (const auto& daemon : daemons_) {
      if (daemon->runs()) daemon->membership.tick(*next);
    }
    return true;
  }

  const std::uint32_t degree_;
  std::mt19937 random_;
  Time now_{};
  std::uint32_t grown_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cut_{};
  std::vector<std::unique_ptr<Daemon>> daemons_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Item>> channels_{};
};

}  // namespace openlapi::daemon
