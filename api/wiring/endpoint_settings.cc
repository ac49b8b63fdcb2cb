#include "api/wiring/endpoint_settings.h"

namespace openlapi {

EndpointConfig endpoint_config(const Settings& settings, const OpenTransports& opened, std::uint32_t instance,
                               Nanoseconds timeout) {
  const Bootstrap& bootstrap = *opened.bootstrap;
  EndpointConfig config;
  config.self = bootstrap.task();
  config.tasks = bootstrap.size();
  config.job_key = bootstrap.packet_key();
  config.packet_tags = opened.packet_tags;
  config.key_may_differ = settings.library == CommunicationLibrary::kIp && !bootstrap.can_exchange();
  config.instance = instance;
  config.epoch = opened.epoch;
  config.copy_limit = static_cast<std::uint32_t>(settings.retransmit_buffer_size);
  config.copy_buffers = static_cast<std::uint32_t>(settings.retransmit_buffer_count);
  config.ack_threshold = static_cast<std::uint32_t>(settings.ack_threshold);
  config.idle_loops_between_timers = static_cast<std::uint32_t>(settings.retransmit_interval);
  config.bulk = settings.use_bulk;
  config.bulk_minimum = static_cast<std::uint64_t>(settings.bulk_minimum);
  config.timeout = settings.never_time_out ? UINT64_MAX : timeout;
  return config;
}

}  // namespace openlapi
