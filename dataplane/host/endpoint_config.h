// What an endpoint is told when it is made.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/clock.h"
#include "dataplane/base/siphash.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

struct EndpointConfig {
  PeerIndex self = 0;
  std::uint32_t tasks = 1;
  SipKey job_key;                    // what the job's tasks share and nobody else knows
  bool packet_tags = false;          // packets over unreliable transports carry a keyed tag; the same in all tasks
  bool key_may_differ = false;       // users give the key: who has another one is no mere stranger
  std::uint32_t instance = 1;        // which context of the task; part of every packet
  std::uint64_t epoch = 1;           // this incarnation; later incarnations of the same task have larger ones
  std::uint32_t copy_limit = 16384;  // messages up to this size (user header and data) are copied before a call returns
  std::uint32_t copy_buffers = 128;  // such copies that may wait before calls answer `busy`; peers share (fair_share.h)
  std::uint32_t ack_threshold = 30;  // packets
  std::uint32_t idle_loops_between_timers = 1'000'000;  // MP_RETRANSMIT_INTERVAL; an upper bound
  Nanoseconds timeout = 900 * kSecond;                  // UINT64_MAX: never
  bool bulk = false;                                    // long contiguous data is read by the adapter where one can
  std::uint64_t bulk_minimum = 153'600;  // bytes of data from which on; messages that are copied never are
  // Of messages, fences, requests and collectives, and of transmissions; all tasks have the same.
  std::uint64_t first_number = 1;
  // Number that the first packet of each incarnation of each pair carries, the same in all tasks; empty, as it is but
  // in tests: one that nobody else can foresee.
  std::optional<std::uint32_t> first_packet{};

  // Of 32 bits, where the number before the first one is wanted; incarnations of peers begin with it too.
  std::uint32_t before_first() const { return static_cast<std::uint32_t>(first_number - 1); }
};

}  // namespace openlapi
