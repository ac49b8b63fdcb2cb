// A task of the job that knows its key and lies: one context of it, with ports like everybody's, that sends any records
// in any order, with any lengths and at its own pace, floods somebody, and sometimes takes nothing for a while. What it
// says of addresses lies in the arena of the task that it talks to: whoever is of the job may write anywhere, and so
// nothing else could be told from an honest task's work.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/paths/channel_set.h"
#include "tests/simulation/scenario.h"
#include "tests/support/simulated_network.h"

namespace openlapi::simulation {

class Simulation;

class LyingTask final : public ChannelListener {
 public:
  LyingTask(Simulation& simulation, std::uint32_t context);
  ~LyingTask();

  bool is_done() const;  // with lying

 private:
  static constexpr std::uint32_t kMostLies = 1500;

  struct Victim {
    SimulatedTransport* memory = nullptr;  // how it is reached; null: by `channel`
    std::unique_ptr<PeerChannel> channel;
    std::vector<std::uint32_t> seen;  // words of what it has sent: ids, lengths, tickets
  };

  // ChannelListener
  PeerChannel* channel_to(PeerIndex source, bool may_be_new) override;
  void channel_delivered(PeerIndex source, std::span<std::byte> payload) override;
  void channel_acknowledged(PeerIndex, std::uint64_t) override {}
  void channel_restarted(PeerIndex, bool, bool) override {}
  void channel_timed_out(PeerIndex peer) override;

  void open_ports();
  void meet(PeerIndex peer);
  void step();
  unsigned take_arrivals();
  void learn(Victim& victim, std::span<const std::byte> packet);
  void lie_to(PeerIndex peer, std::uint64_t records);
  bool send(Victim& victim, PeerIndex peer, std::span<const std::byte> packet);

  // One record, of any kind or of that which floods.
  std::vector<std::byte> record(PeerIndex peer, wire::RecordKind kind);
  std::vector<std::byte> pieces_record(PeerIndex peer);
  std::vector<std::byte> layout_record(PeerIndex peer);
  std::vector<std::byte> short_put_record(PeerIndex peer);
  void describe(std::vector<std::byte>& out, std::uint64_t total, PeerIndex peer, bool own);
  // `behind`: how many bytes of user header and payload follow.
  RecordBytes fixed_part(PeerIndex peer, wire::RecordKind kind, std::uint64_t& behind);
  RecordBytes long_part(PeerIndex peer, wire::RecordKind kind, std::uint64_t& behind);
  std::uint8_t elsewhere(PeerIndex peer, wire::RecordKind kind, wire::LongExtension& extension);
  wire::BulkKey key();
  std::uint64_t keys_length();
  std::uint64_t place(PeerIndex peer, std::uint64_t length);
  std::uint64_t counter(PeerIndex peer);
  std::uint32_t number(PeerIndex peer);  // one that may mean something
  std::uint64_t length();

  Simulation& simulation_;
  const Scenario& scenario_;
  const std::uint32_t context_;
  SeededRandom random_;
  EndpointConfig config_;
  std::unique_ptr<SimulatedTransport> memory_, network_;
  std::unique_ptr<ChannelSet> channels_;
  std::vector<Victim> victims_;  // by task
  std::vector<std::byte> own_;   // what others read
  std::list<std::vector<std::byte>> descriptions_;  // the same, at any time
  PeerIndex flooded_;
  wire::RecordKind flood_;
  std::uint32_t next_flood_ = 1;
  std::uint64_t flood_left_;             // records
  std::uint32_t lies_left_ = kMostLies;  // packets of others
  Nanoseconds lies_until_;
  Nanoseconds deaf_until_ = 0;
};

}  // namespace openlapi::simulation
