// LAPI_Address_init and the barrier of LAPI_Gfence among a thousand tasks: real engines over the simulated network. How
// many rounds, messages and bytes each task needs, as it leaves them on the wire.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/wire/operation_header.h"
#include "dataplane/wire/packet_header.h"
#include "tests/support/quiet_host.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kDelay = 20 * kMicrosecond;  // of every packet
constexpr Nanoseconds kStep = 5 * kMicrosecond;    // between two looks of a task
// What may stand around the values of a packet: its header, a record's, the body or what a long message adds.
constexpr std::size_t kMostAround = wire::kPacketHeaderSize + sizeof(wire::RecordHeader) + sizeof(wire::DataBody) +
                                    sizeof(wire::CollectiveBody) + sizeof(wire::LongExtension);

// A task's port, which counts what its engine sends.
class CountingTransport final : public Transport {
 public:
  CountingTransport(SimulatedNetwork& network, PeerIndex self)
      : inner_(network, {.address = {self, 0, 0}, .bytes_per_second = 100'000'000'000}) {}

  std::string_view name() const override { return inner_.name(); }
  const TransportLimits& limits() const override { return inner_.limits(); }
  PeerAddress local_address() const override { return inner_.local_address(); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override {
    return inner_.add_peer(peer, address, error);
  }
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override {
    const std::size_t taken = inner_.send_burst(peer, packets);
    for (const OutgoingPacket& packet : packets.first(taken)) count(peer, packet);
    return taken;
  }
  std::size_t receive_burst(std::span<IncomingPacket> packets) override { return inner_.receive_burst(packets); }
  void release(std::size_t count) override { inner_.release(count); }
  TransportCapabilities capabilities() override { return inner_.capabilities(); }
  TransportCounters counters() const override { return inner_.counters(); }

  // (peer, round): each is one message, however often it had to be sent.
  const std::set<std::pair<PeerIndex, std::uint32_t>>& rounds() const { return rounds_; }
  std::size_t messages() const { return messages_; }  // with those that were sent again
  std::size_t data_packets() const { return data_packets_; }
  std::size_t packets() const { return packets_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t payload() const { return payload_; }  // the values alone

 private:
  void count(PeerIndex peer, const OutgoingPacket& packet) {
    std::vector<std::byte> bytes(packet.length);
    copy_pieces(bytes.data(), packet.pieces);
    ++packets_;
    bytes_ += bytes.size();
    wire::PacketHeader header;
    ASSERT_EQ(wire::decode(bytes, header), wire::DecodeResult::ok);
    if (bytes.size() == header.size()) return;  // an acknowledgement, or the first word to a peer
    ++data_packets_;
    std::span<std::byte> rest = std::span(bytes).subspan(header.size());
    for (wire::Record record; !rest.empty();) {
      ASSERT_TRUE(wire::next_record(rest, record));
      payload_ += record.header.payload_length;
      if (record.kind() != wire::RecordKind::collective) continue;
      ++messages_;
      rounds_.emplace(peer, wire::body_of<wire::CollectiveBody>(record).round);
    }
  }

  SimulatedTransport inner_;
  std::set<std::pair<PeerIndex, std::uint32_t>> rounds_;
  std::size_t messages_ = 0, data_packets_ = 0, packets_ = 0, bytes_ = 0, payload_ = 0;
};

struct Task final : RouteResolver {
  Task(SimulatedNetwork& network, VirtualTime& time, PeerIndex self, std::uint32_t tasks) : transport(network, self) {
    EndpointConfig config;
    config.self = self;
    config.tasks = tasks;
    config.job_key = {0x1ac1, 0};
    Transport* path = &transport;
    endpoint = std::make_unique<Endpoint>(config, std::span(&path, 1), time.clock(), *this, host);
  }
  // As a published address does, it says which incarnation it is.
  Route resolve(PeerIndex) override {
    ++resolved;
    Route route;
    route.paths[0] = &transport;
    route.count = 1;
    route.epoch = EndpointConfig().epoch;
    return route;
  }

  CountingTransport transport;
  test::QuietHost host;
  std::unique_ptr<Endpoint> endpoint;
  std::size_t resolved = 0;
};

struct Size {
  std::uint32_t tasks;
  double loss;
};

class CollectiveScale : public testing::TestWithParam<Size> {
 protected:
  CollectiveScale() : network_(time_, 7) {
    NetworkFaults faults;
    faults.loss = GetParam().loss;
    faults.least_delay = faults.most_delay = kDelay;
    network_.set_faults(faults);
    for (PeerIndex task = 0; task < tasks(); ++task) {
      members_.push_back(std::make_unique<Task>(network_, time_, task, tasks()));
    }
  }

  ~CollectiveScale() override {
    for (const auto& task : members_) EXPECT_EQ(task->host.faults, 0u);
  }

  static std::uint32_t tasks() { return GetParam().tasks; }
  static bool loses() { return GetParam().loss > 0; }
  static auto rounds() { return static_cast<std::size_t>(std::bit_width(tasks() - 1)); }  // of a barrier: ceil(log2 N)

  void run_collective() {
    const Nanoseconds start = time_.now();
    const Nanoseconds end = start + 60 * kSecond;
    const auto is_done = [](const auto& task) {
      return task->endpoint->collectives().state() == CollectiveState::done;
    };
    while (!std::ranges::all_of(members_, is_done)) {
      ASSERT_LT(time_.now(), end);
      time_.run_until(time_.now() + kStep);
      for (auto& task : members_) {
        task->endpoint->progress();
        if (task->endpoint->collectives().state() == CollectiveState::filled)
          task->endpoint->collectives().confirm_exchange();
      }
    }
    took_ = time_.now() - start;
    // What the engines have still to say about it: acknowledgements.
    for (const Nanoseconds quiet = time_.now() + 5 * kMillisecond; time_.now() < quiet;) {
      time_.run_until(time_.now() + 50 * kMicrosecond);
      for (auto& task : members_) task->endpoint->progress();
    }
  }

  void check_rounds(std::size_t wanted) {
    for (const auto& task : members_) {
      ASSERT_EQ(task->transport.rounds().size(), wanted);
      for (const auto& [peer, round] : task->transport.rounds()) ASSERT_LT(round, wanted);
      // One whom it sends to and one whom it hears from for each distance, and nobody else was looked up.
      ASSERT_LE(task->endpoint->peers().contacted().size(), 2 * rounds());
      ASSERT_LE(task->resolved, 2 * rounds());
    }
    if (loses()) return;
    for (const auto& task : members_) ASSERT_EQ(task->transport.messages(), wanted);
    EXPECT_LE(took_, static_cast<Nanoseconds>(wanted) * (kDelay + 2 * kStep)) << "rounds wait for each other";
  }

  void print(const char* what, std::size_t messages) const {
    std::size_t bytes = 0, packets = 0;
    for (const auto& task : members_) {
      bytes = std::max(bytes, task->transport.bytes());
      packets = std::max(packets, task->transport.packets());
    }
    std::printf(
        "%s among %u tasks, %.0f %% loss: %zu rounds and messages per task, at most %zu packets and %zu bytes\n", what,
        tasks(), 100 * GetParam().loss, messages, packets, bytes);
  }

  VirtualTime time_;
  SimulatedNetwork network_;
  std::vector<std::unique_ptr<Task>> members_;
  Nanoseconds took_ = 0;
};

TEST_P(CollectiveScale, BarrierNeedsOneSmallPacketForEachRound) {
  for (auto& task : members_) task->endpoint->collectives().begin_barrier();
  run_collective();
  check_rounds(rounds());
  print("barrier", rounds());
  if (loses()) return;
  for (const auto& task : members_) {
    ASSERT_EQ(task->transport.payload(), 0u);
    ASSERT_EQ(task->transport.data_packets(), rounds());
    // And an acknowledgement for each at most, and a first word where the last round meets one that it has heard from.
    ASSERT_LE(task->transport.packets(), 2 * rounds() + 2);
    ASSERT_LE(task->transport.bytes(), rounds() * kMostAround + (rounds() + 2) * wire::kPacketHeaderSize);
  }
}

TEST_P(CollectiveScale, ExchangeSendsEachValueOnceToEachTask) {
  for (PeerIndex task = 0; task < tasks(); ++task)
    members_[task]->endpoint->collectives().begin_exchange(mix_bits(task));
  run_collective();
  const std::size_t messages = 2 * rounds();  // half of them only say that the values were taken
  check_rounds(messages);
  print("address exchange", messages);
  for (const auto& member : members_) {
    const std::span<const std::uint64_t> values = member->endpoint->collectives().exchanged();
    ASSERT_EQ(values.size(), tasks());
    for (PeerIndex task = 0; task < tasks(); ++task) ASSERT_EQ(values[task], mix_bits(task));
  }
  if (loses()) return;
  const std::size_t values = sizeof(std::uint64_t) * (tasks() - 1);
  for (const auto& task : members_) {
    ASSERT_EQ(task->transport.payload(), values);
    const std::size_t packets = task->transport.data_packets();
    ASSERT_LE(packets, messages + values / (task->transport.limits().max_packet - kMostAround));
    ASSERT_LE(task->transport.packets(), 2 * packets + 2);
    ASSERT_LE(task->transport.bytes(), values + packets * kMostAround + (packets + 2) * wire::kPacketHeaderSize);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, CollectiveScale,
                         testing::Values(Size{2, 0}, Size{3, 0}, Size{1000, 0}, Size{1024, 0}, Size{1025, 0},
                                         Size{1000, 0.02}, Size{1024, 0.02}));

}  // namespace
}  // namespace openlapi
