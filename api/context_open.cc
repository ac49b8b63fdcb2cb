#include "api/context_open.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "api/context_epoch.h"
#include "api/context_libraries.h"
#include "api/context_mpi.h"
#include "api/context_resources.h"
#include "api/context_texts.h"
#include "api/context_threads.h"
#include "api/context_trace.h"
#include "api/context_variables.h"
#include "api/context_ways.h"
#include "api/context_windows.h"
#include "api/memory_reserve.h"
#include "api/messages.h"
#include "api/version.h"
#include "control/own_task_page.h"
#include "dataplane/base/task_page.h"
#include "shm/known_process.h"
#include "shm/shm_transport.h"

namespace openlapi {

namespace {

const char* read_environment(const char* name) { return std::getenv(name); }

// What the process keeps from one LAPI_Init to the next; guarded by opening().
struct ProcessState {
  std::shared_ptr<Bootstrap> launcher;
  bool cookie_known = false;
  bool libraries_compared = false;
  std::optional<std::vector<std::string>> unknown_variables;  // not set: nobody has looked
  bool exit_handler_set = false;
  std::array<std::uint32_t, kMaxContexts + 1> lives{};  // by instance: times it was opened
  shm::Acquaintances acquaintances;
};

std::mutex& opening() {
  static std::mutex* mutex = new std::mutex;  // never destroyed, as the contexts
  return *mutex;
}

ProcessState& process() {
  static ProcessState* state = new ProcessState;
  return *state;
}

// Who sends packets needs a secret that strangers do not know. Shared memory alone is kept from other users by the
// kernel, and in user space mode the daemon's network table comes with a random cookie.
std::optional<SecretPlace> secret_place(const Settings& settings) {
  const bool over_udp =
      settings.library == CommunicationLibrary::kIp && settings.shared_memory != SharedMemoryUse::kOnly;
  if (!over_udp || settings.secret == SecretSource::kPartition) return std::nullopt;
  return SecretPlace{settings.secret_file};
}

bool find_bootstrap(const Settings& settings, std::shared_ptr<Bootstrap>& bootstrap, OpenError& error) {
  ProcessState& state = process();
  std::string reason;
  if (state.launcher == nullptr) state.launcher = open_pmix_bootstrap(reason);
  bootstrap = state.launcher;
  if (bootstrap != nullptr) return true;
  if (settings.message_api == MessageApi::kUnset) {
    return fail(error, LAPI_ERR_MSG_API,
                "MP_MSG_API is not set and no launcher is there (" + reason +
                    "); without a launcher it must be lapi, 'lapi,mpi', 'mpi,lapi' or mpi_lapi");
  }
  bool missing = false;
  bootstrap = open_standalone_bootstrap(read_environment, secret_place(settings), reason, missing);
  const int code = reason.starts_with("MP_COMMON_TASKS") ? LAPI_ERR_SHM_SETUP : LAPI_ERR_NO_ENV_VAR;
  return bootstrap != nullptr || fail(error, code, reason);
}

int attention_of(ShmFailure failure) {
  switch (failure) {
    case ShmFailure::kCreate:
      return LAPI_ATTENTION_SHM_CREATE_FAILED;
    case ShmFailure::kGet:
    case ShmFailure::kTimeout:
      return LAPI_ATTENTION_SHM_GET_FAILED;
    case ShmFailure::kAttach:
      return LAPI_ATTENTION_SHM_ATTACH_FAILED;
    default:
      return LAPI_ATTENTION_SHM_INIT_FAILED;
  }
}

// One LAPI_Init at work.
class Opening {
 public:
  Opening(lapi_info_t& info, OpenError& error) : info_(info), error_(error), resources_(new ContextResources) {}

  bool run(Context& context, lapi_handle_t& handle);

 private:
  bool open_ways();
  bool meet_others();
  bool exchange(const char* failure);
  bool open_shared_memory();
  bool open_network();
  void open_spare_network();
  bool plan_threads();
  bool make_engine(Context& context);
  bool start_threads(Context& context, lapi_handle_t& handle);
  JobWays ways() const;
  bool wants_tags() const;
  bool is_over_udp() const { return settings().library == CommunicationLibrary::kIp; }
  bool everybody_here() const { return bootstrap().local_tasks().size() == bootstrap().size(); }
  Bootstrap& bootstrap() const { return *resources_->bootstrap; }
  const Settings& settings() const { return resources_->settings; }

  lapi_info_t& info_;
  OpenError& error_;
  ContextResourcesPointer resources_;
  ContextRoutes::SharedMemory shared_memory_;
  std::vector<ContextRoutes::Network> networks_;
  ThreadPlan thread_plan_;
  lapi_dev_t protocol_ = LAPI_DEV_SHM;
  std::uint32_t life_ = 0;   // times this instance was opened before
  std::uint64_t epoch_ = 0;  // EndpointConfig::epoch
};

// Tasks of several nodes come to one exchange, that of their addresses. Those of one node wait for each other before
// they set up shared memory, which does not wait for long, and exchange addresses only where that fails or is not
// wanted: it would be polled in vain.
bool Opening::open_ways() {
  if (!everybody_here()) return open_network() && open_shared_memory();
  if (is_over_udp() && !check_adapter_name(info_, error_)) return false;  // also where no adapter is needed
  if (!meet_others() || !open_shared_memory()) return false;
  if (shared_memory_.group == nullptr) return open_network();
  open_spare_network();
  return true;
}

// A task that replaces one which has failed does not come into the shared memory of the others: where the user may do
// that (guide, chapter 19) and has said where the tasks are, they can be reached over UDP. Until that happens nothing
// is received there, and it costs nothing.
void Opening::open_spare_network() {
  const lapi_extend_t* addresses = info_.add_info;
  const bool given = addresses != nullptr && (addresses->udp_hndlr != nullptr || addresses->add_udp_addrs != nullptr);
  const bool by_udp = settings().library == CommunicationLibrary::kIp && !bootstrap().can_exchange() && given;
  if (!by_udp || settings().shared_memory == SharedMemoryUse::kOnly) return;
  OpenNetworks opened;
  OpenError reason;
  NetworkRequest request{settings(), bootstrap(), info_, life_, epoch_, wants_tags()};
  request.spare = true;
  if (!open_udp_networks(request, opened, reason)) {
    if (settings().info_level < kLevelWarning) return;
    std::fprintf(stderr, "openlapi: task %u: no task that fails can be replaced, for UDP is not there: %s\n",
                 bootstrap().rank(), reason.text.c_str());
    return;
  }
  networks_ = std::move(opened.networks);
  std::move(opened.transports.begin(), opened.transports.end(), std::back_inserter(resources_->transports));
}

// Launchers that do not hand out a cookie have task 0 make it; the first exchange brings it.
bool Opening::meet_others() {
  ProcessState& state = process();
  if (state.launcher == nullptr || state.cookie_known) return true;
  state.cookie_known = exchange("the tasks could not agree on the job's cookie: ");
  return state.cookie_known;
}

// The first one of a process also brings what the others' libraries and mistyped variables are.
bool Opening::exchange(const char* failure) {
  ProcessState& state = process();
  const bool compare = state.launcher != nullptr && !state.libraries_compared;
  std::string reason;
  if (compare && !publish_texts(bootstrap(), {own_library(), checksum_of(*state.unknown_variables)}, reason)) {
    return fail(error_, LAPI_ERR_UNKNOWN, failure + reason);
  }
  if (!bootstrap().exchange(reason)) return fail(error_, LAPI_ERR_UNKNOWN, failure + reason);
  if (compare && !compare_libraries(bootstrap(), settings().info_level, reason)) {
    return fail(error_, LAPI_ERR_UNKNOWN, reason);
  }
  if (compare) compare_unknown_variables(bootstrap(), *state.unknown_variables);
  state.libraries_compared = state.libraries_compared || compare;
  return true;
}

// LAPI_USE_SHM=yes: failure is a warning and the network serves everybody; only: it is the end.
bool Opening::open_shared_memory() {
  if (settings().shared_memory == SharedMemoryUse::kNo) return true;
  const bool only = settings().shared_memory == SharedMemoryUse::kOnly;
  const std::vector<std::uint32_t>& local = bootstrap().local_tasks();
  if (only && !everybody_here()) {
    return fail(error_, LAPI_ERR_SHM_SETUP,
                "LAPI_USE_SHM=only, but only " + std::to_string(local.size()) + " of the job's " +
                    std::to_string(bootstrap().size()) + " tasks are on this node" +
                    (bootstrap().can_exchange() ? "" : ", as MP_COMMON_TASKS says (not set: this task is alone)"));
  }
  if (!only && local.size() == 1) {
    print_attention(LAPI_ATTENTION_SHM_ONE_TASK, settings().info_level, "task %u is alone on its node",
                    bootstrap().rank());
    return true;
  }
  ShmConfig config;
  config.cookie = bootstrap().job_cookie();
  config.instance = info_.instance_no;
  config.generation = life_;
  config.self = bootstrap().rank();
  config.local_tasks = local;
  config.version = wire_version();
  config.acquaintances = &process().acquaintances;
  config.tasks_stay_processes = bootstrap().can_exchange();
  ShmSetupError reason;
  std::unique_ptr<ShmTransport> transport = open_shm_transport(config, reason);
  if (transport == nullptr) {
    if (reason.failure != ShmFailure::kTooManyTasks) {
      print_attention(attention_of(reason.failure), settings().info_level, "%s", reason.reason.c_str());
    }
    // Once for all of the node. Who takes a failed task's place is not one of the group.
    const bool speaks = bootstrap().rank() == (reason.leader_is_missing ? local[1] : local.front());
    if (speaks && !only && reason.failure != ShmFailure::kFormed && reason.failure != ShmFailure::kPeerEnded) {
      std::fprintf(stderr, "openlapi: task %u: %s; the tasks of this node talk over the network%s\n",
                   bootstrap().rank(), reason.reason.c_str(),
                   reason.failure == ShmFailure::kTimeout
                       ? " (has one of them LAPI_USE_SHM=no, or a network namespace of its own?)"
                       : "");
    }
    // The network does not bring it back either.
    if (reason.failure == ShmFailure::kPeerEnded && (only || config.tasks_stay_processes)) {
      return fail(error_, LAPI_ERR_NO_CONNECTIVITY, reason.reason);
    }
    const int code = reason.failure == ShmFailure::kTimeout ? LAPI_ERR_TIMEOUT : LAPI_ERR_SHM_SETUP;
    return !only || fail(error_, code, "LAPI_USE_SHM=only: " + reason.reason);
  }
  resources_->shm_numbers.assign(bootstrap().size(), -1);
  for (const std::uint32_t task : local) resources_->shm_numbers[task] = transport->local_index(task);
  resources_->shm_tasks = static_cast<int>(local.size());
  shared_memory_.group = transport.get();
  resources_->transports.insert(resources_->transports.begin(), traced(std::move(transport)));
  shared_memory_.path = resources_->transports.front().get();
  return true;
}

bool Opening::open_network() {
  if (settings().shared_memory == SharedMemoryUse::kOnly) return true;
  const bool user_space = settings().library == CommunicationLibrary::kUserSpace;
  if (user_space && !bootstrap().can_exchange() && !settings().network_windows.empty() &&
      !lease_windows(resources_->settings, resources_->bootstrap, error_)) {
    return false;
  }
  OpenNetworks opened;
  const NetworkRequest request{settings(), bootstrap(), info_, life_, epoch_, wants_tags()};
  if (!(user_space ? open_user_space_networks : open_udp_networks)(request, opened, error_)) return false;
  networks_ = std::move(opened.networks);
  protocol_ = opened.protocol;
  for (std::unique_ptr<Transport>& transport : opened.transports) {
    resources_->transports.push_back(std::move(transport));
  }
  if (opened.published && !exchange("the tasks' addresses could not be exchanged: ")) {
    forget_windows();
    return false;
  }
  process().cookie_known |= opened.published;
  return true;
}

// The same answer in all tasks, or they would not understand each other; also in one that takes another's place and
// finds no shared memory. Who is near is nothing that the tasks of a standalone job all know.
bool Opening::wants_tags() const {
  if (settings().packet_authentication == PacketAuthentication::kYes) return true;
  if (settings().packet_authentication == PacketAuthentication::kNo || !is_over_udp()) return false;
  return !bootstrap().can_exchange() || !everybody_here();
}

bool Opening::make_engine(Context& context) {
  ContextResources& resources = *resources_;
  resources.instance = info_.instance_no;
  resources.error_handler = info_.err_hndlr;
  resources.library = info_.lib_vers;
  resources.ack_threshold = static_cast<std::uint32_t>(settings().ack_threshold);
  resources.timeout_seconds = 900;
  EndpointConfig config;
  config.self = bootstrap().rank();
  config.tasks = bootstrap().size();
  config.job_key = bootstrap().packet_key();
  config.packet_tags = wants_tags() && (is_over_udp() || protocol_ == LAPI_DEV_DPDK);
  if (config.packet_tags && protocol_ != LAPI_DEV_SHM && settings().info_level >= kLevelInformation) {
    std::fprintf(stderr, "openlapi: task %u: packets carry tags (OPENLAPI_PACKET_AUTH)\n", config.self);
  }
  config.key_may_differ = is_over_udp() && !bootstrap().can_exchange();
  config.instance = info_.instance_no;
  config.epoch = epoch_;
  config.copy_limit = static_cast<std::uint32_t>(settings().retransmit_buffer_size);
  config.copy_buffers = static_cast<std::uint32_t>(settings().retransmit_buffer_count);
  config.ack_threshold = resources.ack_threshold;
  config.idle_loops_between_timers = static_cast<std::uint32_t>(settings().retransmit_interval);
  config.bulk = settings().use_bulk;
  config.bulk_minimum = static_cast<std::uint64_t>(settings().bulk_minimum);
  config.timeout = settings().never_time_out ? UINT64_MAX : resources.timeout_seconds * kSecond;
  resources.routes = std::make_unique<ContextRoutes>(resources.bootstrap, shared_memory_, resources.shm_numbers,
                                                     std::move(networks_), settings().info_level);
  std::vector<Transport*> transports;
  for (const std::unique_ptr<Transport>& transport : resources.transports) transports.push_back(transport.get());
  resources.traced_host = traced(context);
  HandlerHost* host = resources.traced_host != nullptr ? resources.traced_host.get() : &context;
  resources.endpoint = std::make_unique<Endpoint>(config, transports, resources.clock, *resources.routes, *host);
  resources.completions = std::make_unique<CompletionThreads>(context);
  return true;
}

bool Opening::plan_threads() {
  const std::vector<std::uint32_t>& local = bootstrap().local_tasks();
  const auto self = std::find(local.begin(), local.end(), bootstrap().rank());
  const ThreadNumber number{static_cast<unsigned>(self - local.begin()), static_cast<unsigned>(local.size()),
                            info_.instance_no};
  const bool placed = info_.lapi_thread_attr != nullptr && info_.lapi_thread_attr->attr != nullptr;
  if (!plan_thread({settings(), number, placed, networks_}, thread_plan_, error_)) return false;
  if (settings().info_level >= kLevelInformation) {
    std::fprintf(stderr, "openlapi: task %u, dataplane thread of instance %u: %s\n", bootstrap().rank(),
                 info_.instance_no, describe(thread_plan_).c_str());
  }
  return true;
}

// Handlers may run before LAPI_Init returns, and may use the program's own handle: it is there before any thread is.
bool Opening::start_threads(Context& context, lapi_handle_t& handle) {
  ContextResources& resources = *resources_;
  std::vector<WakeSource*> sources;
  bool blind = false;
  for (const std::unique_ptr<Transport>& transport : resources.transports) {
    WakeSource* source = transport->capabilities().wake_source;
    blind = blind || source == nullptr;
    if (source != nullptr) sources.push_back(source);
  }
  resources.poller = std::make_unique<Poller>(context, thread_plan_.poller, std::move(sources), blind);
  if (!resources.poller->valid()) {
    return fail(error_, LAPI_ERR_MEMORY_EXHAUSTED, "no more file descriptors (ulimit -n)");
  }
  ThreadStart how;
  if (info_.lapi_thread_attr != nullptr) {
    how.attributes = info_.lapi_thread_attr->attr;
    how.initialize = info_.lapi_thread_attr->init_func;
    how.argument = info_.lapi_thread_attr->init_arg;
  }
  ThreadStart dataplane = how;
  dataplane.name = "lapi-dataplane";
  dataplane.processor = thread_plan_.placement.processor;
  how.name = "lapi-handlers";
  const int handlers = info_.num_compl_hndlr_thr > 0 ? info_.num_compl_hndlr_thr : 1;
  Poller& poller = *resources.poller;
  CompletionThreads& completions = *resources.completions;
  context.lock();
  context.open(std::move(resources_));
  const lapi_handle_t before = std::exchange(handle, context.name());
  static_cast<void>(poller.set_interrupt_mode(true));  // the thread, yet to be started, needs no bell
  int failed = poller.start(dataplane);
  if (failed == 0) context.pin();
  for (int thread = 0; failed == 0 && thread < handlers; ++thread) {
    failed = completions.start_one(how);
    if (failed == 0) context.pin();
  }
  if (failed != 0) context.terminate();
  context.unlock();
  if (failed == 0) return true;
  handle = before;
  return fail(error_, LAPI_ERR_MEMORY_EXHAUSTED, std::string("a thread could not be made: ") + std::strerror(failed));
}

// The ways that this task has, for who asks what is used.
JobWays Opening::ways() const {
  const std::size_t near = shared_memory_.group != nullptr ? bootstrap().local_tasks().size() - 1 : 0;
  return {.near_tasks = near,
          .far_tasks = bootstrap().size() - 1 - near,
          .network = networks_.empty() ? "nothing" : networks_.front().transport->name(),
          .adapters = networks_.size(),
          .adapter_name = static_cast<const char*>(info_.adapter_name)};
}

bool Opening::run(Context& context, lapi_handle_t& handle) {
  SettingError wrong;
  if (!read_settings(read_environment, resources_->settings, wrong)) return fail(error_, wrong.code, wrong.message());
  if (settings().info_level >= kLevelInformation) {
    print_attention(LAPI_ATTENTION_VERSION, settings().info_level, "%s, built %s", version_text(), build_stamp());
  }
  if (settings().use_bulk) {
    print_attention(LAPI_ATTENTION_BULK_ENABLED, settings().info_level, "%s",
                    "It concerns RDMA; shared memory and UDP work as they do without it.");
  }
  if (settings().trace_level > 0 && !tracing_is_built() && settings().info_level >= kLevelWarning) {
    std::fprintf(
        stderr, "openlapi: MP_LAPI_TRACE_LEVEL=%d is ignored: this library does not trace, the one in openlapi/ does\n",
        settings().trace_level);
  }
  const bool found = find_bootstrap(settings(), resources_->bootstrap, error_);
  if (!process().unknown_variables) {
    process().unknown_variables = look_at_variables(!found || bootstrap().rank() == 0 || process().launcher == nullptr);
  }
  if (!found) return false;
  std::string reason;
  if (!mpi_is_in_the_job(mpi_library(), bootstrap(), read_environment, reason)) {
    return fail(error_, LAPI_ERR_MSG_API, reason);
  }
  if (settings().shared_memory == SharedMemoryUse::kByLauncher) {
    resources_->settings.shared_memory = process().launcher != nullptr ? SharedMemoryUse::kYes : SharedMemoryUse::kNo;
  }
  start_tracing(settings().trace_level, bootstrap().rank());
  life_ = process().lives[info_.instance_no]++;
  epoch_ = next_epoch();
  if (!open_ways() || !plan_threads()) return false;
  if (bootstrap().rank() == 0) say_what_is_used(ways(), settings());
  if (!make_engine(context)) return false;
  info_.protocol = protocol_;
  return start_threads(context, handle);
}

bool reserve_context(lapi_info_t& info, Context*& context, OpenError& error) {
  for (unsigned index = 0; index < kMaxContexts; ++index) {
    const unsigned instance = index + 1;
    if (info.instance_no != 0 && info.instance_no != instance) continue;
    context = &context_table.contexts[index];
    if (!context->reserve()) continue;
    info.instance_no = instance;
    return true;
  }
  return fail(error, LAPI_ERR_ALL_HNDL_IN_USE,
              info.instance_no == 0 ? "all 16 instances are in use"
                                    : "instance_no " + std::to_string(info.instance_no) +
                                          " is in use or not allowed; allowed: 1 to 16, 0 for any free one");
}

void abandon_contexts() {
  for (Context& context : context_table.contexts) context.abandon();
}

}  // namespace

bool open_context(lapi_info_t& info, lapi_handle_t& handle, OpenError& error) {
  const std::scoped_lock turn(opening());
  open_own_task_page(read_environment);
  const LongWait shown({WaitedCall::init});
  const ReserveClosed heap_only;
  Context* context = nullptr;
  const uint asked = info.instance_no;
  if (!reserve_context(info, context, error)) return false;
  bool opened = false;
  try {
    opened = Opening(info, error).run(*context, handle);
  } catch (const std::bad_alloc&) {
    fail(error, LAPI_ERR_MEMORY_EXHAUSTED, "no memory");
  } catch (...) {
    context->give_back();
    info.instance_no = asked;
    throw;
  }
  if (!opened) {
    // When threads had been started already, LAPI_Term's way has given the object back.
    context->give_back();
    info.instance_no = asked;
    return false;
  }
  if (!process().exit_handler_set) process().exit_handler_set = std::atexit(abandon_contexts) == 0;
  return true;
}

}  // namespace openlapi
