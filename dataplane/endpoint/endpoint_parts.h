// The parts of an endpoint and how they are connected: the only place that knows all of them. Members are declared in
// the order in which they are created; what refers to peers is declared after the peers, and so destroyed before them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/endpoint/record_dispatch.h"
#include "dataplane/transfer/data_readers.h"
#include "dataplane/transfer/message_submission.h"
#include "dataplane/transfer/one_sided_gets.h"

namespace openlapi {

struct EndpointParts final : UnderWay {
  EndpointParts(const EndpointConfig& config, std::span<Transport* const> all_transports, Clock& clock,
                RouteResolver& resolver, HandlerHost& host);
  EndpointParts(const EndpointParts&) = delete;
  EndpointParts& operator=(const EndpointParts&) = delete;

  void give_up(Peer& peer, Fault fault, CounterLoss why) override;

  EndpointConfig config;
  Clock& clock;
  HandlerHost& host;
  Transports transports;
  StepSigns signs;
  Statistics statistics;
  Counters counters;
  LossReports reports;
  DroppedPeers dropped;
  GuardedLayouts guard;
  TimerPacing pacing;

  std::unique_ptr<ChannelSet> channels;  // all unreliable transports; null: there are none
  PeerTable peers;
  RequestTable request_table;
  OutgoingMessages outgoing;
  RefusedMessages refused;

  Admission admission;
  OriginNotices origins;
  Outbox outbox;
  Refusals refusals;
  MessageSender sender;
  MemoryOffers offers;
  MessageSubmission submission;
  PendingRequests requests;
  IncomingMessages incoming;
  AttachReads reads;
  BulkPulls pulls;
  OneSidedGets one_sided;
  DataReaders readers;

  FenceAnswers fence_answers;
  Fences fences;
  Collectives collectives;

  Completions completions;
  DirectOperations direct;
  Puts puts;
  Gets gets;
  ActiveMessages messages;
  ReadModifyWrites rmws;
  NarrowTask narrow;

  Losses losses;
  PeerWatch watch;
  RecordDispatch dispatch;

  DirectMemory* const direct_memory;  // null: no transport has it

  // Of the steps (endpoint.cc).
  Nanoseconds next_retry = 0;  // of messages that their header handlers have refused
  bool arrivals_held = false;
};

}  // namespace openlapi
