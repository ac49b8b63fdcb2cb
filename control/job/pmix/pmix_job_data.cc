#include "control/job/pmix/pmix_job_data.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "control/client/job_keys.h"

namespace openlapi {
namespace {

// A growing array of pmix_info_t.
class InfoList {
 public:
  InfoList() = default;
  ~InfoList() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;

  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = list_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIx_Info_load(&info, key, value, type);
  }
  void number(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
  void short_number(const char* key, std::uint32_t value) {
    const auto narrow = static_cast<std::uint16_t>(value);
    add(key, &narrow, PMIX_UINT16);
  }
  void rank(const char* key, pmix_rank_t value) { add(key, &value, PMIX_PROC_RANK); }
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }

  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  std::vector<pmix_info_t> list_;
};

// Waits for an operation that libpmix finishes in its own thread.
class Completion {
 public:
  static void done(pmix_status_t status, void* self) {
    auto* completion = static_cast<Completion*>(self);
    std::lock_guard held(completion->lock_);
    completion->status_ = status;
    completion->finished_ = true;
    completion->changed_.notify_one();
  }

  // `started` is what the call returned.
  bool wait(pmix_status_t started, const char* call, std::string& error) {
    if (started == PMIX_SUCCESS) {
      std::unique_lock held(lock_);
      changed_.wait(held, [this] { return finished_; });
      started = status_;
    }
    if (started == PMIX_SUCCESS || started == PMIX_OPERATION_SUCCEEDED) return true;
    error = std::string(call) + ": " + PMIx_Error_string(started);
    return false;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool finished_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

struct Freed {
  void operator()(char* text) const { std::free(text); }
};
using MallocedText = std::unique_ptr<char, Freed>;

std::string joined(const std::vector<std::uint32_t>& tasks) {
  std::string ranks;
  for (const std::uint32_t task : tasks) ranks += (ranks.empty() ? "" : ",") + std::to_string(task);
  return ranks;
}

bool add_maps(const PmixJob& job, InfoList& info, std::string& error) {
  std::string names, ranks;
  for (const PmixNode& node : job.nodes) {
    names += (names.empty() ? "" : ",") + node.host_name;
    ranks += (ranks.empty() ? "" : ";") + joined(node.tasks);
  }
  char* nodes = nullptr;
  char* processes = nullptr;
  const pmix_status_t nodes_status = PMIx_generate_regex(names.c_str(), &nodes);
  const pmix_status_t processes_status = PMIx_generate_ppn(ranks.c_str(), &processes);
  const MallocedText free_nodes(nodes);
  const MallocedText free_processes(processes);
  if (nodes_status != PMIX_SUCCESS || processes_status != PMIX_SUCCESS) {
    error = "libpmix cannot describe the nodes '" + names + "'";
    return false;
  }
  info.add(PMIX_NODE_MAP, nodes, PMIX_REGEX);
  info.add(PMIX_PROC_MAP, processes, PMIX_REGEX);
  return true;
}

void add_job(const PmixJob& job, InfoList& info) {
  info.text(PMIX_JOBID, job.name_space);
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE}) info.number(key, job.tasks());
  const auto local = static_cast<std::uint32_t>(job.this_node().tasks.size());
  for (const char* key : {PMIX_LOCAL_SIZE, PMIX_NODE_SIZE}) info.number(key, local);
  info.number(PMIX_JOB_NUM_APPS, 1);
  info.number(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes.size()));
  info.text(PMIX_LOCAL_PEERS, joined(job.this_node().tasks));
  info.rank(PMIX_LOCALLDR, job.this_node().tasks.front());
  info.text(PMIX_TMPDIR, job.directory);
  info.text(PMIX_NSDIR, job.directory);
  const bool removed_by_launcher = true;
  info.add(PMIX_TDIR_RMCLEAN, &removed_by_launcher, PMIX_BOOL);
  info.add(kJobCookieKey, &job.cookie, PMIX_UINT64);
  info.add(kPacketKeyKey, &job.packet_key, PMIX_UINT64);
}

// `place`: which of the node's tasks it is.
void add_task(const PmixJob& job, std::size_t node, std::size_t place, InfoList& info) {
  const std::uint32_t rank = job.nodes[node].tasks[place];
  InfoList task;
  task.rank(PMIX_RANK, rank);
  task.rank(PMIX_GLOBAL_RANK, rank);
  task.rank(PMIX_APP_RANK, rank);
  task.short_number(PMIX_LOCAL_RANK, static_cast<std::uint32_t>(place));
  task.short_number(PMIX_NODE_RANK, static_cast<std::uint32_t>(place));
  task.number(PMIX_APPNUM, 0);
  task.number(PMIX_NODEID, static_cast<std::uint32_t>(node));
  task.text(PMIX_HOSTNAME, job.nodes[node].host_name);
  pmix_data_array_t array{};
  array.type = PMIX_INFO;
  array.size = task.size();
  array.array = task.data();
  info.add(PMIX_PROC_INFO_ARRAY, &array, PMIX_DATA_ARRAY);  // copies
}

}  // namespace

bool register_job_data(const PmixJob& job, std::string& error) {
  InfoList info;
  if (!add_maps(job, info, error)) return false;
  add_job(job, info);
  for (std::size_t node = 0; node < job.nodes.size(); ++node) {
    for (std::size_t place = 0; place < job.nodes[node].tasks.size(); ++place) add_task(job, node, place, info);
  }
  Completion registered;
  const pmix_status_t status =
      PMIx_server_register_nspace(job.name_space.c_str(), static_cast<int>(job.this_node().tasks.size()), info.data(),
                                  info.size(), Completion::done, &registered);
  if (!registered.wait(status, "PMIx_server_register_nspace", error)) return false;
  for (const std::uint32_t rank : job.this_node().tasks) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, job.name_space.c_str(), rank);
    Completion client;
    const pmix_status_t started =
        PMIx_server_register_client(&process, geteuid(), getegid(), nullptr, Completion::done, &client);
    if (!client.wait(started, "PMIx_server_register_client", error)) return false;
  }
  return true;
}

}  // namespace openlapi
