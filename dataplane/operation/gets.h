// Get: the origin asks, and the target answers with the data, or the origin reads the data where it lies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/host/requests.h"
#include "dataplane/operation/direct_operations.h"
#include "dataplane/transfer/attach_reads.h"
#include "dataplane/transfer/bulk_pulls.h"
#include "dataplane/transfer/memory_offers.h"
#include "dataplane/transfer/message_sender.h"
#include "dataplane/transfer/one_sided_gets.h"
#include "dataplane/transfer/pending_requests.h"
#include "dataplane/transfer/refusals.h"

namespace openlapi {

class Gets final : public GetFallback {
 public:
  struct Means {
    const EndpointConfig& config;
    Statistics& statistics;
    Counters& counters;
    Admission& admission;
    Outbox& outbox;
    MessageSender& sender;
    MemoryOffers& offers;
    IncomingMessages& incoming;
    PendingRequests& requests;
    AttachReads& reads;
    BulkPulls& pulls;
    Refusals& refusals;
    DirectOperations& direct;
    OneSidedGets& one_sided;
    const GuardedLayouts& guard;
  };
  explicit Gets(const Means& means) : means_(means) {}

  // From a peer, or from this task itself.
  Submit begin(Peer& peer, const GetRequest& request);
  Submit begin_at_self(const GetRequest& request);
  // Between layouts; the source is not empty, and both are at their beginnings.
  Submit begin(Peer& peer, const LayoutGetRequest& request);
  Submit begin_at_self(const LayoutGetRequest& request);

  // Requests of peers.
  void on_request(Peer& from, const wire::Record& record);
  void on_layout_request(Peer& from, const wire::Record& record);
  void answer_layout(Peer& from, const wire::GetLayoutBody& body, std::span<const std::byte> description);
  void on_memory_read(Peer& from, const wire::Record& record);

  // Answers of peers.
  void on_data(Peer& from, const wire::Record& record);
  // There is such a request, and its answer may come in any order.
  bool awaits_data(const Peer& from, std::uint32_t request_id) const;
  void on_key(Peer& from, const wire::Record& record);

 private:
  void ask(Peer& peer, std::uint32_t id, std::uint64_t address, std::uint64_t length, std::uint64_t target_counter,
           std::uint8_t flags = 0);
  void ask_layout(Peer& peer, std::uint32_t id, const LayoutCursor& source, std::uint64_t target_counter);
  void ask_for_packets(Peer& peer, const AttachRead& read, std::uint64_t length) override;
  bool answer_at_once(Peer& from, const wire::GetRequestBody& body);
  bool layout_answer(Peer& from, const wire::GetLayoutBody& body, std::vector<std::byte> description,
                     OutgoingMessage& answer);
  void end_at_self(std::uint64_t data_bytes, std::uint64_t target_counter, std::uint64_t origin_counter,
                   const HandlerCall& handler);

  const Means means_;
};

}  // namespace openlapi
