// A daemon that has the key of the boot and lies: what is sealed with the right key, in any order and of any length, to
// the stream of another daemon, and what comes out of it to all that this daemon knows and routes. The other side of
// what daemon_message_fuzzer.cc does, which has no key.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "control/daemon/membership/membership.h"
#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/job_delivery.h"
#include "control/daemon/messages/sealed_stream.h"
#include "control/sealing/sealed_direction.h"
#include "dataplane/base/check.h"

namespace openlapi::daemon {
namespace {

constexpr std::uint32_t kNodes = 5;
constexpr std::uint32_t kVictim = 1;
constexpr BootKey kKey{1, 2, 3};

// A daemon of a small universe without its sockets. What it knows stays a tree whatever it is told.
class Victim final : MembershipLinks, JobPlaces {
 public:
  Victim()
      : table_(booted(), 0, kVictim, 2), membership_(table_, *this, [this] { return now_; }), jobs_(table_, *this) {
    membership_.start();
  }

  // As PeerLinks::take does. False: the link is over.
  bool take(const DaemonMessage& message) {
    if (const auto* link = std::get_if<LinkMessage>(&message)) {
      if (liar_ || !linked_.insert(link->node).second) return false;
      liar_ = link->node;
      const bool kept = membership_.link_up(link->node, link->changes);
      if (!kept) linked_.erase(link->node);
      return kept && go_on();
    }
    if (!liar_) return false;
    if (const auto* of_job = std::get_if<JobMessage>(&message)) {
      jobs_.from_neighbour(*of_job);
    } else if (!std::holds_alternative<NetworkMessage>(message)) {
      membership_.take(*liar_, message);
    }
    return go_on();
  }

  void end_link() {
    if (liar_ && linked_.erase(*liar_) != 0) membership_.link_down(*liar_);
    go_on();
  }

  void pass_time() {
    if (const auto deadline = membership_.deadline()) now_ = *deadline;
    membership_.tick(now_);
    go_on();
  }

 private:
  static std::vector<UniverseNode> booted() {
    std::vector<UniverseNode> nodes(kNodes);
    for (UniverseNode& node : nodes) node.state = NodeState::kMember;
    return nodes;
  }

  bool go_on() {
    jobs_.go_on();
    for (const std::uint32_t node : failed_) membership_.connect_failed(node);
    failed_.clear();
    check();
    return liar_.has_value() && linked_.contains(*liar_);
  }

  void check() const {
    OPENLAPI_CHECK(table_.nodes().size() <= kMostNodes);
    if (table_.nodes().size() > 64) return;  // the whole tree of a large one takes too long to look at
    for (std::uint32_t node = 0; node < table_.nodes().size(); ++node) {
      if (!table_.is_member(node) || !table_.is_member(kVictim)) continue;
      const auto way = table_.path(kVictim, node);
      OPENLAPI_CHECK(way.front() == kVictim && way.back() == node && way.size() <= table_.nodes().size());
    }
  }

  void connect(std::uint32_t node) override {
    OPENLAPI_CHECK(table_.is_member(node) && node != kVictim);
    failed_.push_back(node);
  }
  void send(std::uint32_t node, const DaemonMessage& message) override {
    OPENLAPI_CHECK(linked_.contains(node));
    OPENLAPI_CHECK(decode(encode(message)).has_value());
  }
  void close(std::uint32_t node) override { linked_.erase(node); }
  void universe_linked() override {}
  void node_lost(std::uint32_t node) override { OPENLAPI_CHECK(node < table_.nodes().size()); }
  void node_changed(std::uint32_t node) override {
    OPENLAPI_CHECK(node < table_.nodes().size());
    if (!table_.is_member(node)) jobs_.node_lost(node);
  }
  void node_joined(std::uint32_t) override {}
  void ended(const std::set<std::uint32_t>&, const std::set<std::uint32_t>&) override {}

  bool is_linked(std::uint32_t neighbour) const override { return linked_.contains(neighbour); }
  void send(std::uint32_t neighbour, const JobMessage& message) override { send(neighbour, DaemonMessage(message)); }
  void start_helper(const JobId&, const MessageBytes&) override {}
  void tell_helper(const JobId&, const JobMessage&) override {}
  void end_helper(const JobId&) override {}
  void leave_helper(const JobId&) override {}
  void tell_lapirun(const JobId&, const JobMessage&) override {}

  Time now_{};
  UniverseTable table_;
  std::set<std::uint32_t> linked_{};
  std::vector<std::uint32_t> failed_{};
  std::optional<std::uint32_t> liar_{};  // the node that it says it is
  Membership membership_;
  JobDelivery jobs_;
};

// The liar's side of the connection, by hand: it seals what it likes, and knows what an honest reader makes of it.
class Liar {
 public:
  Liar(const MessageBytes& victims_hello, bool connects)
      : hello_(own_hello()), direction_(kKey, salt(victims_hello, connects), label(connects)) {}

  MessageBytes greeting() {
    MessageBytes bytes = hello_;
    direction_.seal(std::array<std::uint8_t, 4>{}, bytes);
    return bytes;
  }

  // As a length or a message, whatever is expected.
  MessageBytes seal(std::span<const std::uint8_t> text) {
    MessageBytes bytes;
    direction_.seal(text, bytes);
    if (!in_step_) return bytes;
    if (message_length_) {
      in_step_ = text.size() == *message_length_;
      if (in_step_) told_.emplace_back(text.begin(), text.end());
      message_length_.reset();
      return bytes;
    }
    std::size_t length = 0;
    for (std::size_t n = text.size(); n-- > 0;) length = length << 8 | text[n];
    in_step_ = text.size() == 4 && length <= kLongestMessage;
    if (in_step_ && length == 0) told_.emplace_back();
    if (in_step_ && length != 0) message_length_ = length;
    return bytes;
  }
  void lose_step() { in_step_ = false; }
  bool awaits_message() const { return message_length_.has_value(); }
  // What it has said that the reader has to take, in this order.
  std::deque<MessageBytes>& told() { return told_; }

 private:
  static MessageBytes own_hello() {
    MessageBytes hello{'L', 'A', 'M', 'S', 1, static_cast<std::uint8_t>(sealing::Purpose::kNeighbours)};
    hello.resize(sealing::kHelloBytes);
    return hello;
  }
  static MessageBytes salt(const MessageBytes& victims, bool connects) {
    MessageBytes first = connects ? own_hello() : victims;
    const MessageBytes second = connects ? victims : own_hello();
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  static const char* label(bool connects) { return connects ? "openlapi connects" : "openlapi accepts"; }

  MessageBytes hello_;
  sealing::SealedDirection direction_;
  std::optional<std::size_t> message_length_{};
  bool in_step_ = true;
  std::deque<MessageBytes> told_{};
};

class Talk {
 public:
  Talk(std::span<const std::uint8_t> input, bool connects)
      : input_(input),
        stream_(kKey, connects ? SealedStream::Role::kAccepts : SealedStream::Role::kConnects),
        liar_(MessageBytes(stream_.outgoing().begin(), stream_.outgoing().begin() + sealing::kHelloBytes), connects) {}

  void run() {
    deliver(liar_.greeting());
    OPENLAPI_CHECK(stream_.is_trusted());
    while (!input_.empty() && !over_) command();
    victim_.end_link();
    victim_.pass_time();
  }

 private:
  std::uint8_t take_byte() {
    if (input_.empty()) return 0;
    const std::uint8_t byte = input_.front();
    input_ = input_.subspan(1);
    return byte;
  }
  // Its length is a byte, and what of it is not there is left out.
  std::span<const std::uint8_t> take_bytes() {
    const std::size_t length = take_byte();
    const auto bytes = input_.first(std::min(length, input_.size()));
    input_ = input_.subspan(bytes.size());
    return bytes;
  }

  void command() {
    const std::uint8_t choice = take_byte();
    if (choice % 8 < 4) return say(take_bytes());
    if (choice % 8 == 4) return victim_.pass_time();
    if (choice % 8 < 7) return deliver(liar_.seal(take_bytes()));
    const auto raw = take_bytes();  // not sealed at all
    if (!raw.empty()) liar_.lose_step();
    deliver(MessageBytes(raw.begin(), raw.end()));
  }

  // A whole message, as an honest daemon sends it.
  void say(std::span<const std::uint8_t> message) {
    if (liar_.awaits_message()) return deliver(liar_.seal(message));
    const std::uint8_t length[4] = {static_cast<std::uint8_t>(message.size())};
    deliver(liar_.seal(length));
    if (!message.empty()) deliver(liar_.seal(message));
  }

  void deliver(const MessageBytes& bytes) {
    const std::size_t piece = 1 + bytes.size() / 2;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      stream_.take(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    }
    while (const auto message = stream_.next()) {
      OPENLAPI_CHECK(!liar_.told().empty() && liar_.told().front() == *message);
      liar_.told().pop_front();
      const auto decoded = decode(*message);
      if (decoded) OPENLAPI_CHECK(encode(*decoded) == *message);
      over_ = over_ || !decoded || !victim_.take(*decoded);
      if (over_) return;
    }
    OPENLAPI_CHECK(liar_.told().empty());  // all that was in order came through
    over_ = stream_.is_broken();
  }

  std::span<const std::uint8_t> input_;
  SealedStream stream_;
  Liar liar_;
  Victim victim_{};
  bool over_ = false;
};

}  // namespace
}  // namespace openlapi::daemon

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  openlapi::daemon::Talk({data + 1, size - 1}, data[0] % 2 == 0).run();
  return 0;
}
