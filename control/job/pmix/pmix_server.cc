#include "control/job/pmix/pmix_server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>

#include "control/base/fork_failure.h"
#include "control/client/adapter_event_info.h"
#include "control/job/pmix/adapter_relay.h"
#include "control/job/pmix/peer_user.h"
#include "control/job/pmix/pmix_job_data.h"
#include "control/job/pmix/task_security.h"
#include "control/job/pmix/thread_starts.h"

namespace openlapi {
namespace {

// Only a libpmix that is stuck already needs any of it.
constexpr time_t kFreezeLimitSeconds = 1;

// Of addresses, for libpmix with two threads and what it keeps of tasks: where it finds no memory, it goes on with null
// pointers or without a part of itself.
constexpr std::size_t kRoomForServer = std::size_t{24} << 20;
constexpr std::size_t kRoomForTask = std::size_t{64} << 10;
// What PMIx_server_setup_fork has on its stack, and a bit.
constexpr std::size_t kStackForServer = std::size_t{224} << 10;

// Open MPI 4 asks PMIx only where it knows the launcher, and else takes the task for a job of its own, unless what
// would find that is left out. Tasks are pinned already.
constexpr const char* kForOpenMpi[] = {"OMPI_MCA_schizo=ompi", "OMPI_MCA_orte_externally_bound=1",
                                       "OMPI_MCA_hwloc_base_binding_policy=none"};

// Where Open MPI 4 and 5 have the memory that tasks share. Its files stay when a task does not come to MPI_Finalize.
constexpr const char* kOpenMpisMemory[] = {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"};

// libpmix calls these on its own thread and must not be called back before they return: each posts to the loop.
struct Host {
  Mailbox* mailbox = nullptr;
  PmixPeers* peers = nullptr;
  PmixServer::Listener listener;
  AdapterRelay relay{};  // libpmix's thread alone has it
};

Host& host() {
  static Host* instance = new Host;  // libpmix's thread may still call while the process exits
  return *instance;
}

void post_connection(const pmix_proc_t* client, bool connected) {
  host().mailbox->post([rank = client->rank, connected] { host().listener.connection(rank, connected); });
}

pmix_status_t client_connected(const pmix_proc_t* client, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  post_connection(client, true);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* client, void*, pmix_op_cbfunc_t, void*) {
  post_connection(client, false);
  return PMIX_OPERATION_SUCCEEDED;
}

// Gives libpmix bytes that it frees when it has done with them.
void hand_over(int status, PmixBytes bytes, pmix_modex_cbfunc_t done, void* context) {
  if (done == nullptr) return;
  auto* kept = new PmixBytes(std::move(bytes));
  const auto* data = kept->empty() ? nullptr : reinterpret_cast<const char*>(kept->data());
  done(
      status, data, kept->size(), context, [](void* owned) { delete static_cast<PmixBytes*>(owned); }, kept);
}

// Sorted; empty: all tasks of the job.
std::vector<std::uint32_t> tasks_of(const pmix_proc_t* participants, std::size_t count) {
  std::vector<std::uint32_t> tasks;
  for (std::size_t n = 0; n < count; ++n) {
    if (participants[n].rank == PMIX_RANK_WILDCARD) return {};
    tasks.push_back(participants[n].rank);
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

// On one node what libpmix collected is the whole result. `data` is ours to free.
pmix_status_t fence(const pmix_proc_t* participants, std::size_t count, const pmix_info_t*, std::size_t, char* data,
                    std::size_t size, pmix_modex_cbfunc_t done, void* context) {
  PmixBytes bytes(data, data + (data == nullptr ? 0 : size));
  std::free(data);
  host().mailbox->post([=, tasks = tasks_of(participants, count), bytes = std::move(bytes)]() mutable {
    host().listener.fence();
    const auto finish = [done, context](PmixBytes all) { hand_over(PMIX_SUCCESS, std::move(all), done, context); };
    if (host().peers == nullptr) return finish(std::move(bytes));
    host().peers->fence(tasks, std::move(bytes), finish);
  });
  return PMIX_SUCCESS;
}

// Asked only for tasks of other nodes.
pmix_status_t direct_modex(const pmix_proc_t* task, const pmix_info_t*, std::size_t, pmix_modex_cbfunc_t done,
                           void* context) {
  if (host().peers == nullptr) return PMIX_ERR_NOT_FOUND;
  host().mailbox->post([=, rank = task->rank] {
    host().peers->fetch(rank, [=](int status, PmixBytes bytes) { hand_over(status, std::move(bytes), done, context); });
  });
  return PMIX_SUCCESS;
}

struct Fetch {
  std::function<void(int, PmixBytes)> done;
};

// On libpmix's thread, which keeps the data.
void fetched(pmix_status_t status, char* data, std::size_t size, void* fetch) {
  const std::unique_ptr<Fetch> owned(static_cast<Fetch*>(fetch));
  PmixBytes bytes(data, data + (data == nullptr ? 0 : size));
  host().mailbox->post([done = std::move(owned->done), status, bytes = std::move(bytes)] { done(status, bytes); });
}

// Answered at once, on libpmix's own thread: an answer from the loop would race with the end of the caller's
// connection, which the job's end brings about, and libpmix 4.2 does not survive that.
pmix_status_t abort_job(const pmix_proc_t* caller, void*, int status, const char* message, pmix_proc_t*, std::size_t,
                        pmix_op_cbfunc_t, void*) {
  host().mailbox->post([rank = caller->rank, status, text = std::string(message != nullptr ? message : "")] {
    host().listener.abort(rank, status, text);
  });
  return PMIX_OPERATION_SUCCEEDED;
}

// libpmix has told the tasks of this node already. Of other events nothing goes on to other nodes.
pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, pmix_info_t infos[],
                           std::size_t count, pmix_op_cbfunc_t, void*) {
  const std::optional<AdapterEvent> event = code == AdapterEvent::kCode ? adapter_event_of(infos, count) : std::nullopt;
  if (!event || range != PMIX_RANGE_NAMESPACE) return PMIX_ERR_NOT_SUPPORTED;
  if (host().peers == nullptr) return PMIX_OPERATION_SUCCEEDED;
  if (const auto news = host().relay.take(source->rank, *event, AdapterRelay::Clock::now())) {
    host().mailbox->post([rank = source->rank, news = *news] { host().peers->spread(rank, news); });
  }
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t* module() {
  static pmix_server_module_t functions{};
  functions.client_connected2 = client_connected;
  functions.client_finalized = client_finalized;
  functions.abort = abort_job;
  functions.fence_nb = fence;
  functions.direct_modex = direct_modex;
  functions.notify_event = notify_event;
  return &functions;
}

// Runs on libpmix's thread and keeps it. What `semaphore` points to lives as long as the process.
void keep_thread(pmix_status_t, void* semaphore) {
  sem_post(static_cast<sem_t*>(semaphore));
  while (true) pause();
}

pmix_status_t initialise(const PmixJob& job, void* hwloc_topology) {
  pmix_topology_t topology{};
  topology.source = const_cast<char*>("hwloc");
  topology.topology = static_cast<decltype(topology.topology)>(hwloc_topology);
  pmix_info_t info[5];
  for (pmix_info_t& entry : info) PMIX_INFO_CONSTRUCT(&entry);
  PMIx_Info_load(&info[0], PMIX_SERVER_NSPACE, "lapirun", PMIX_STRING);
  PMIx_Info_load(&info[1], PMIX_SERVER_TMPDIR, job.directory.c_str(), PMIX_STRING);
  PMIx_Info_load(&info[2], PMIX_SYSTEM_TMPDIR, job.directory.c_str(), PMIX_STRING);
  PMIx_Info_load(&info[3], PMIX_HOSTNAME, job.this_node().host_name.c_str(), PMIX_STRING);
  // Given, so that libpmix does not discover the whole machine again (8 ms).
  PMIx_Info_load(&info[4], PMIX_TOPOLOGY2, &topology, PMIX_TOPO);
  const pmix_status_t status = PMIx_server_init(module(), info, 5);
  for (pmix_info_t& entry : info) PMIX_INFO_DESTRUCT(&entry);
  return status;
}

}  // namespace

std::uint32_t PmixJob::tasks() const {
  std::size_t count = 0;
  for (const PmixNode& node : nodes) count += node.tasks.size();
  return static_cast<std::uint32_t>(count);
}

bool PmixServer::start(const PmixJob& job, void* hwloc_topology, Mailbox& mailbox, PmixPeers* peers, Listener listener,
                       std::string& error) {
  job_ = job;
  host().mailbox = &mailbox;
  host().peers = peers;
  host().listener = std::move(listener);
  if (!memory_has_room(kRoomForServer + job_.this_node().tasks.size() * kRoomForTask)) {
    error = "too little memory for the PMIx server" + memory_limit();
    return false;
  }
  if (!stack_has_room(kStackForServer)) {
    error = "too little stack for the PMIx server, which takes " + std::to_string(kStackForServer / 1024) +
            " kB behind the environment" + stack_limit();
    return false;
  }
  choose_task_security();
  refuse_other_users();
  const pmix_status_t status = initialise(job, hwloc_topology);
  started_ = status == PMIX_SUCCESS;
  const std::string no_thread = thread_start_failure();
  if (status != PMIX_SUCCESS || !no_thread.empty()) {
    error = "PMIx_server_init: " + (no_thread.empty() ? PMIx_Error_string(status) + memory_limit() : no_thread);
    if (const char* psec = std::getenv("PMIX_MCA_psec")) error += std::string(" (PMIX_MCA_psec is ") + psec + ")";
    return false;
  }
  if (register_job_data(job_, error)) return true;
  error += memory_limit();
  return false;
}

void PmixServer::fetch_here(std::uint32_t task, std::function<void(int status, PmixBytes)> done) const {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job_.name_space.c_str(), task);
  auto fetch = std::make_unique<Fetch>(Fetch{std::move(done)});
  const pmix_status_t status = PMIx_server_dmodex_request(&process, fetched, fetch.get());
  if (status == PMIX_SUCCESS) {
    [[maybe_unused]] const Fetch* theirs = fetch.release();
  } else {
    fetch->done(status, {});
  }
}

void PmixServer::deliver(std::uint32_t task, const AdapterEvent& event) const {
  if (!started_ || frozen_) return;
  pmix_proc_t source;
  PMIX_LOAD_PROCID(&source, job_.name_space.c_str(), task);
  auto sent = std::make_unique<AdapterEventInfo>(event);
  const pmix_status_t status = PMIx_Notify_event(
      AdapterEvent::kCode, &source, PMIX_RANGE_NAMESPACE, sent->data(), sent->size(),
      [](pmix_status_t, void* owned) { delete static_cast<AdapterEventInfo*>(owned); }, sent.get());
  // Otherwise nobody calls back.
  if (status != PMIX_SUCCESS) return;
  [[maybe_unused]] const AdapterEventInfo* theirs = sent.release();
}

// A libpmix that was not started would call keep_thread() on the calling thread.
void PmixServer::freeze() {
  if (!started_ || std::exchange(frozen_, true)) return;
  static sem_t reached;
  sem_init(&reached, 0, 0);
  // An operation on a job that does not exist does nothing but call back, on the right thread.
  pmix_proc_t nobody;
  PMIX_LOAD_PROCID(&nobody, "lapirun-end", 0);
  PMIx_server_deregister_client(&nobody, keep_thread, &reached);
  timespec limit{};
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += kFreezeLimitSeconds;
  while (sem_timedwait(&reached, &limit) != 0 && errno == EINTR) {
  }
}

bool PmixServer::task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job_.name_space.c_str(), rank);
  char** environment = nullptr;
  const pmix_status_t status = PMIx_server_setup_fork(&process, &environment);
  if (status != PMIX_SUCCESS) {
    error = std::string("PMIx_server_setup_fork: ") + PMIx_Error_string(status);
    return false;
  }
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
    std::free(*entry);
  }
  std::free(environment);
  for (const char* variable : kForOpenMpi) variables.emplace_back(variable);
  return true;
}

std::vector<std::pair<std::string, std::string>> PmixServer::default_variables() const {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const char* name : kOpenMpisMemory) {
    if (!job_.memory_directory.empty()) variables.emplace_back(name, job_.memory_directory);
  }
  return variables;
}

}  // namespace openlapi
