#include "api/wiring/open_transports.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "api/wiring/libraries.h"
#include "api/wiring/mistyped_variables.h"
#include "api/wiring/next_epoch.h"
#include "api/wiring/shared_memory.h"
#include "api/wiring/task_texts.h"
#include "api/wiring/trace.h"
#include "api/wiring/windows.h"

namespace openlapi {

namespace {

constexpr const char* kNoAddresses = "the tasks' addresses could not be exchanged: ";

// One open_transports() at work.
class Opening {
 public:
  Opening(const TransportsRequest& request, Settings& settings, OpenTransports& result, OpenFailure& failure)
      : request_(request), job_(request.job), settings_(settings), result_(result), failure_(failure) {}

  bool run();

 private:
  bool open_paths();
  bool meet_others();
  bool attend_exchanges();
  bool exchange(const char* what_fails);
  bool share_memory();
  bool open_network();
  void open_spare_network();
  bool wants_tags() const;
  NetworkRequest network_request();
  bool exchange_networks();
  bool is_over_udp() const { return settings_.library == CommunicationLibrary::kIp; }
  bool everybody_here() const { return bootstrap().local_tasks().size() == bootstrap().size(); }
  Bootstrap& bootstrap() const { return *result_.bootstrap; }

  const TransportsRequest& request_;
  JoinedJob& job_;
  Settings& settings_;
  OpenTransports& result_;
  OpenFailure& failure_;
  std::uint32_t generation_ = 0;  // times this instance was opened before
};

// Tasks of several nodes come to two exchanges, of their networks and of their addresses, whatever the settings of each
// are. Those of one node wait for each other before they set up shared memory, which does not wait for long, and
// exchange addresses only where that fails or is not wanted: it would be polled in vain.
bool Opening::open_paths() {
  if (!everybody_here()) return attend_exchanges() && open_network() && share_memory();
  // Also where no adapter is needed.
  if (is_over_udp() && request_.adapter_name != nullptr && !check_adapter_name(request_.adapter_name, failure_)) {
    return false;
  }
  if (!meet_others() || !share_memory()) return false;
  if (result_.shared_memory.group == nullptr) return open_network();
  open_spare_network();
  return true;
}

// A task that replaces one which has failed does not come into the shared memory of the others: where the user may do
// that (guide, chapter 19) and has said where the tasks are, they can be reached over UDP. Until that happens nothing
// is received there, and it costs nothing.
void Opening::open_spare_network() {
  const bool by_udp = is_over_udp() && !bootstrap().can_exchange() && request_.addresses != nullptr;
  if (!by_udp || settings_.shared_memory == SharedMemoryUse::kOnly) return;
  OpenNetworks opened;
  OpenFailure reason;
  NetworkRequest request = network_request();
  request.spare = true;
  if (!open_udp_networks(request, opened, reason)) {
    if (settings_.info_level < kLevelWarning) return;
    std::fprintf(stderr, "openlapi: task %u: no task that fails can be replaced, for UDP is not there: %s\n",
                 bootstrap().task(), reason.text.c_str());
    return;
  }
  result_.networks = std::move(opened.networks);
  std::move(opened.transports.begin(), opened.transports.end(), std::back_inserter(result_.transports));
}

// Launchers that do not hand out a cookie have task 0 make it; the first exchange brings it.
bool Opening::meet_others() {
  if (!job_.has_launcher || job_.cookie_known) return true;
  job_.cookie_known = exchange("the tasks could not agree on the job's cookie: ");
  return job_.cookie_known;
}

// Of a task that wants shared memory alone where that cannot be: it fails, but the others, which may have other
// settings, do not wait for it.
bool Opening::attend_exchanges() {
  if (settings_.shared_memory != SharedMemoryUse::kOnly || !job_.has_launcher) return true;
  return exchange_networks() && exchange(kNoAddresses);
}

// The first one of a process also brings what the others' libraries and mistyped variables are.
bool Opening::exchange(const char* what_fails) {
  const bool compare = job_.has_launcher && !job_.libraries_compared;
  std::string reason;
  if (compare && !publish_texts(bootstrap(), {own_library(), checksum_of(*job_.unknown_variables)}, reason)) {
    return fail(failure_, FailureKind::exchange, what_fails + reason);
  }
  if (!bootstrap().exchange(reason)) return fail(failure_, FailureKind::exchange, what_fails + reason);
  if (compare && !compare_libraries(bootstrap(), settings_.info_level, reason)) {
    return fail(failure_, FailureKind::exchange, reason);
  }
  if (compare) compare_unknown_variables(bootstrap(), *job_.unknown_variables);
  job_.libraries_compared = job_.libraries_compared || compare;
  return true;
}

bool Opening::share_memory() {
  OpenSharedMemory opened;
  if (!open_shared_memory(
          {settings_, bootstrap(), request_.instance, generation_, job_.acquaintances, job_.threads, request_.tell},
          opened, failure_)) {
    return false;
  }
  if (opened.transport == nullptr) return true;
  result_.shared_memory = opened.shared;
  result_.shm_numbers = std::move(opened.numbers);
  result_.transports.insert(result_.transports.begin(), std::move(opened.transport));
  return true;
}

bool Opening::open_network() {
  if (settings_.shared_memory == SharedMemoryUse::kOnly) return true;
  const bool by_windows = !is_over_udp() && !bootstrap().can_exchange() && !settings_.network_windows.empty();
  if (by_windows && !lease_windows(settings_, result_.bootstrap, failure_)) return false;
  if (is_over_udp() && !bootstrap().can_exchange() && request_.addresses == nullptr) {
    return fail(failure_, FailureKind::no_addresses,
                std::string("without a launcher the program gives the tasks' UDP addresses: ") +
                    request_.how_to_give_addresses + ", or LAPI_USE_SHM=only");
  }
  OpenNetworks opened;
  if (!(is_over_udp() ? open_udp_networks : open_user_space_networks)(network_request(), opened, failure_))
    return false;
  result_.networks = std::move(opened.networks);
  result_.network = result_.networks.front().transport->name();
  std::move(opened.transports.begin(), opened.transports.end(), std::back_inserter(result_.transports));
  if (opened.published && !exchange(kNoAddresses)) {
    forget_windows();
    return false;
  }
  job_.cookie_known |= opened.published;
  return true;
}

// The same answer in all tasks, or they would not understand each other; also in one that takes another's place and
// finds no shared memory. Which tasks are near is not known to all tasks of a standalone job.
bool Opening::wants_tags() const {
  if (settings_.packet_authentication == PacketAuthentication::kYes) return true;
  if (settings_.packet_authentication == PacketAuthentication::kNo || !is_over_udp()) return false;
  return !bootstrap().can_exchange() || !everybody_here();
}

bool Opening::exchange_networks() {
  ++job_.agreements;
  return exchange("the tasks' networks could not be exchanged: ");
}

NetworkRequest Opening::network_request() {
  return {.settings = settings_,
          .bootstrap = bootstrap(),
          .instance = request_.instance,
          .generation = generation_,
          .epoch = result_.epoch,
          .adapter_name = request_.adapter_name,
          .addresses = request_.addresses,
          .exchange = job_.has_launcher ? std::function<bool()>([this] { return exchange_networks(); }) : nullptr,
          .agreement = job_.agreements,
          .tags = wants_tags(),
          .tell = request_.tell,
          .when_loaded = request_.when_loaded};
}

bool Opening::run() {
  result_.bootstrap = job_.bootstrap;
  if (settings_.shared_memory == SharedMemoryUse::kByLauncher) {
    settings_.shared_memory = job_.has_launcher ? SharedMemoryUse::kYes : SharedMemoryUse::kNo;
  }
  start_tracing(settings_.trace_level, bootstrap().task());
  generation_ = job_.generations[request_.instance]++;
  result_.epoch = next_epoch();
  if (!open_paths()) return false;
  result_.packet_tags = wants_tags();
  return true;
}

}  // namespace

std::mutex& opening_turn() {
  static std::mutex* mutex = new std::mutex;  // never destroyed, as the contexts
  return *mutex;
}

bool open_transports(const TransportsRequest& request, Settings& settings, OpenTransports& result,
                     OpenFailure& failure) {
  return Opening(request, settings, result, failure).run();
}

}  // namespace openlapi
