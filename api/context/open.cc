#include "api/context/open.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "api/arguments/messages.h"
#include "api/context/context_resources.h"
#include "api/context/memory_reserve.h"
#include "api/context/program_addresses.h"
#include "api/wiring/endpoint_settings.h"
#include "api/wiring/job_paths.h"
#include "api/wiring/joined_job.h"
#include "api/wiring/open_transports.h"
#include "api/wiring/shared_memory.h"
#include "api/wiring/task_texts.h"
#include "api/wiring/thread_plan.h"
#include "api/wiring/trace.h"
#include "api/wiring/version.h"
#include "control/client/own_task_page.h"
#include "dataplane/base/task_page.h"

namespace openlapi {

namespace {

const char* read_environment(const char* name) { return std::getenv(name); }

// One LAPI_Init at work.
class Opening {
 public:
  Opening(lapi_info_t& info, OpenError& error) : info_(info), error_(error), resources_(new ContextResources) {}

  bool run(Context& context, lapi_handle_t& handle);

 private:
  void say_what_is_set() const;
  bool open_transports();
  bool plan_threads();
  std::span<const ContextRoutes::Network> preferred_networks() const;
  JobPaths paths() const;
  bool has_other_adapters(std::uint32_t compared) const;
  void say_what_is_used() const;
  void say_what_fails_over() const;
  lapi_dev_t protocol() const;
  void make_engine(Context& context);
  bool start_threads(Context& context, lapi_handle_t& handle);
  const char* adapter_name() const { return static_cast<const char*>(info_.adapter_name); }
  bool is_over_udp() const { return settings().library == CommunicationLibrary::kIp; }
  Bootstrap& bootstrap() const { return *resources_->bootstrap; }
  const Settings& settings() const { return resources_->settings; }

  lapi_info_t& info_;
  OpenError& error_;
  ContextResourcesPointer resources_;
  OpenTransports opened_;
  ThreadPlan thread_plan_;
};

bool Opening::open_transports() {
  std::optional<ProgramAddresses> addresses;
  if (gives_addresses(info_)) addresses.emplace(*info_.add_info);
  OpenFailure failure;
  JoinedJob& job = job_of_process();
  if (!join_job(settings(), job, failure)) return fail(error_, failure);
  const TransportsRequest request{.job = job,
                                  .instance = info_.instance_no,
                                  .adapter_name = adapter_name(),
                                  .addresses = addresses ? &*addresses : nullptr,
                                  .how_to_give_addresses = "set udp_hndlr or add_udp_addrs in add_info",
                                  .tell = print_notice};
  if (!openlapi::open_transports(request, resources_->settings, opened_, failure)) return fail(error_, failure);
  resources_->bootstrap = opened_.bootstrap;
  resources_->transports = std::move(opened_.transports);
  resources_->shm_numbers = std::move(opened_.shm_numbers);
  if (opened_.shared_memory.group != nullptr) {
    resources_->shm_tasks = static_cast<int>(bootstrap().local_tasks().size());
  }
  return true;
}

void Opening::make_engine(Context& context) {
  ContextResources& resources = *resources_;
  resources.instance = info_.instance_no;
  resources.error_handler = info_.err_hndlr;
  resources.library = info_.lib_vers;
  resources.ack_threshold = static_cast<std::uint32_t>(settings().ack_threshold);
  resources.timeout_seconds = 900;
  if (opened_.packet_tags && !opened_.network.empty() && settings().info_level >= kLevelInformation) {
    std::fprintf(stderr, "openlapi: task %u: packets carry tags (OPENLAPI_PACKET_AUTH)\n", bootstrap().task());
  }
  resources.routes = std::make_unique<ContextRoutes>(resources.bootstrap, opened_.shared_memory, resources.shm_numbers,
                                                     std::move(opened_.networks), settings().info_level, print_notice);
  std::vector<Transport*> transports;
  for (const std::unique_ptr<Transport>& transport : resources.transports) transports.push_back(transport.get());
  resources.traced_host = traced(context.handlers());
  HandlerHost* host = resources.traced_host != nullptr ? resources.traced_host.get() : &context.handlers();
  const EndpointConfig config =
      endpoint_config(settings(), opened_, info_.instance_no, resources.timeout_seconds * kSecond);
  resources.endpoint = std::make_unique<Endpoint>(config, transports, resources.clock, *resources.routes, *host);
  resources.completions = std::make_unique<CompletionThreads>(context.completion_host());
}

bool Opening::plan_threads() {
  const std::vector<std::uint32_t>& local = bootstrap().local_tasks();
  const auto self = std::find(local.begin(), local.end(), bootstrap().task());
  const ThreadNumber number{static_cast<unsigned>(self - local.begin()), static_cast<unsigned>(local.size()),
                            info_.instance_no};
  const bool placed = info_.lapi_thread_attr != nullptr && info_.lapi_thread_attr->attr != nullptr;
  OpenFailure failure;
  if (!plan_thread({settings(), number, placed, opened_.networks}, thread_plan_, failure)) return fail(error_, failure);
  if (settings().info_level >= kLevelInformation) {
    std::fprintf(stderr, "openlapi: task %u, dataplane thread of instance %u: %s\n", bootstrap().task(),
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
  resources.poller = std::make_unique<Poller>(context.engine(), thread_plan_.poller, std::move(sources), blind);
  if (!resources.poller->valid()) {
    return fail(error_, LAPI_ERR_MEMORY_EXHAUSTED, "no more file descriptors (ulimit -n)");
  }
  const auto may_lose = [](const auto& transport) { return !transport->limits().reliable; };
  if (std::ranges::any_of(resources.transports, may_lose)) resources.poller->look_after(context.engine());
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
  if (std::atomic<std::uint32_t>* const word = unattended_word(opened_.shared_memory); word != nullptr) {
    poller.report_absence(*word);
  }
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

// Without those that are used only where these serve nothing.
std::span<const ContextRoutes::Network> Opening::preferred_networks() const {
  const std::span<const ContextRoutes::Network> all = opened_.networks;
  const auto other = std::ranges::find_if(all, [&](const ContextRoutes::Network& network) {
    return network.is_last_resort && network.keys != all.front().keys;
  });
  return all.first(static_cast<std::size_t>(other - all.begin()));
}

// What leads from this task to the others, for what is said of the job.
JobPaths Opening::paths() const {
  const std::span<const ContextRoutes::Network> networks = preferred_networks();
  std::vector<ChosenAdapter> chosen;
  for (const ContextRoutes::Network& network : networks) {
    if (network.chosen) chosen.push_back(*network.chosen);
  }
  const std::size_t near = opened_.shared_memory.group != nullptr ? bootstrap().local_tasks().size() - 1 : 0;
  return {.task = bootstrap().task(),
          .near_tasks = near,
          .far_tasks = bootstrap().size() - 1 - near,
          .network = networks.empty() ? "nothing" : networks.front().transport->name(),
          .adapters = networks.size(),
          .networks = settings().device == "sn_all" ? std::max<std::size_t>(count_networks(chosen), 1) : 1,
          .adapter_name = adapter_name()};
}

// Than the task that it is compared with: then nobody has told the user what this one has.
bool Opening::has_other_adapters(std::uint32_t compared) const {
  const ContextRoutes::Network& first = opened_.networks.front();
  if (first.keys.empty() || settings().info_level < kLevelWarning) return false;
  return published_adapters(bootstrap(), first.keys, bootstrap().task()) !=
         published_adapters(bootstrap(), first.keys, compared);
}

void Opening::say_what_is_used() const {
  const std::uint32_t compared = task_to_compare_with(bootstrap());
  if (bootstrap().task() == 0) return openlapi::say_what_is_used(paths(), settings());
  if (opened_.network.empty() || !has_other_instances(paths(), settings()) || !has_other_adapters(compared)) return;
  say_what_is_missing(paths(), settings());
}

void Opening::say_what_fails_over() const {
  if (opened_.network.empty()) return;
  if (opened_.networks.size() == 1 && !asks_for_several(settings())) return;  // nothing to say: nobody is asked
  const std::uint32_t first_here = bootstrap().local_tasks().front();
  if (bootstrap().task() != first_here && !has_other_adapters(first_here)) return;
  std::set<std::string_view> adapters;
  for (const ContextRoutes::Network& network : preferred_networks()) adapters.insert(network.adapter);
  const ContextRoutes::Network& first = opened_.networks.front();
  say_what_can_fail_over({bootstrap().task(), adapters.size(), first.adapter, adapter_name(), first.followed},
                         settings(), print_notice);
}

lapi_dev_t Opening::protocol() const {
  if (opened_.network.empty()) return LAPI_DEV_SHM;
  return is_over_udp() ? LAPI_DEV_UDP : device_of(opened_.network);
}

void Opening::say_what_is_set() const {
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
}

bool Opening::run(Context& context, lapi_handle_t& handle) {
  SettingError wrong;
  if (!read_settings(read_environment, resources_->settings, wrong)) {
    return fail(error_, code_of(wrong.kind), wrong.message());
  }
  say_what_is_set();
  if (!open_transports() || !plan_threads()) return false;
  say_what_is_used();
  say_what_fails_over();
  make_engine(context);
  info_.protocol = protocol();
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
  const std::scoped_lock turn(opening_turn());
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
  static bool exit_handler_set = false;  // guarded by opening_turn()
  if (!exit_handler_set) exit_handler_set = std::atexit(abandon_contexts) == 0;
  return true;
}

}  // namespace openlapi
