// The configuration of an endpoint, fixed when it is created.
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
  SipKey job_key;                    // shared by the job's tasks and known to nobody else
  bool packet_tags = false;          // packets over unreliable transports carry a keyed tag; the same in all tasks
  bool key_may_differ = false;       // the key comes from users, so whoever has another one may be a task of the job
  std::uint32_t instance = 1;        // which context of the task; part of every packet
  std::uint64_t epoch = 1;           // number of this incarnation; later incarnations of the task have larger ones
  std::uint32_t copy_limit = 16384;  // messages up to this size (user header and data) are copied before a call returns
  std::uint32_t copy_buffers = 128;  // copies that may wait before calls answer `busy`; peers share them (fair_share.h)
  std::uint32_t ack_threshold = 30;  // packets
  std::uint32_t idle_loops_between_timers = 1'000'000;  // MP_RETRANSMIT_INTERVAL; an upper bound
  Nanoseconds timeout = 900 * kSecond;                  // UINT64_MAX: never
  bool bulk = false;                                    // long contiguous data is read by an adapter that can
  std::uint64_t bulk_minimum = 153'600;  // bytes of data from which bulk is used; messages that are copied never use it
  std::uint64_t bulk_shared_minimum = 1 << 20;  // bytes of data from which several adapters share it
  // The first number of messages, fences, requests, collectives and transmissions; the same in all tasks.
  std::uint64_t first_number = 1;
  // Number of the first packet of each incarnation of each pair, the same in all tasks. Empty (except in tests): a
  // number that nobody else can foresee.
  std::optional<std::uint32_t> first_packet{};

  // The number before the first one, in 32 bits. Counters of incarnations start with it, too.
  std::uint32_t before_first() const { return static_cast<std::uint32_t>(first_number - 1); }
};

}  // namespace openlapi
