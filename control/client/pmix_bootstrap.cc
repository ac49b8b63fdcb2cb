// The PMIx client behind Bootstrap: lapirun, mpirun and srun --mpi=pmix.
#include <pmix.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "control/client/adapter_events.h"
#include "control/client/bootstrap.h"
#include "control/client/job_keys.h"
#include "control/client/pmix_session.h"
#include "dataplane/base/task_page.h"

namespace openlapi {
namespace {

// How long PMIx_Abort may take before the process ends by itself.
constexpr std::chrono::seconds kAbortLimit{2};

// One pmix_info_t for the length of a call.
class PmixOption {
 public:
  template <typename T>
  PmixOption(const char* key, const T& value, pmix_data_type_t type) {
    PMIX_INFO_CONSTRUCT(&info_);
    PMIx_Info_load(&info_, key, &value, type);
  }
  ~PmixOption() { PMIX_INFO_DESTRUCT(&info_); }
  PmixOption(const PmixOption&) = delete;
  PmixOption& operator=(const PmixOption&) = delete;
  pmix_info_t* get() { return &info_; }

 private:
  pmix_info_t info_;
};

// The value that PMIx_Get allocates.
class PmixValue {
 public:
  PmixValue() = default;
  ~PmixValue() {
    if (value_ != nullptr) PMIX_VALUE_RELEASE(value_);
  }
  PmixValue(const PmixValue&) = delete;
  PmixValue& operator=(const PmixValue&) = delete;
  pmix_value_t** out() { return &value_; }
  const pmix_value_t* operator->() const { return value_; }

 private:
  pmix_value_t* value_ = nullptr;
};

pmix_proc_t process_of(const PmixIdentity& identity, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, identity.name_space.c_str(), rank);
  return process;
}

bool failed(pmix_status_t status, const std::string& call, std::string& error) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return false;
  error = call + ": " + PMIx_Error_string(status);
  return true;
}

// What the launcher said when the job was registered; never asks it again.
bool read_job_value(const PmixIdentity& identity, const char* key, PmixValue& value) {
  const pmix_proc_t job = process_of(identity, PMIX_RANK_WILDCARD);
  PmixOption only_known(PMIX_OPTIONAL, true, PMIX_BOOL);
  return PMIx_Get(&job, key, only_known.get(), 1, value.out()) == PMIX_SUCCESS;
}

// "0,1,4" as the launcher gives it; false when it is no such list or does not name `self`.
bool parse_peers(const char* text, std::uint32_t self, std::uint32_t size, std::vector<std::uint32_t>& peers) {
  const char* end = text + std::strlen(text);
  while (text < end) {
    std::uint32_t rank = 0;
    const auto [next, status] = std::from_chars(text, end, rank);
    if (status != std::errc() || rank >= size || (next != end && *next != ',')) return false;
    peers.push_back(rank);
    text = next == end ? end : next + 1;
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return std::binary_search(peers.begin(), peers.end(), self);
}

class PmixBootstrap final : public Bootstrap {
 public:
  explicit PmixBootstrap(const PmixIdentity& identity) : identity_(identity) {}

  bool open(std::string& error);

  std::string_view name() const override { return "pmix"; }
  std::uint32_t task() const override { return identity_.rank; }
  std::uint32_t size() const override { return size_; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_tasks_; }
  std::uint64_t job_cookie() const override { return key_.value_or(SipKey{}).low; }
  SipKey packet_key() const override { return key_.value_or(SipKey{}); }
  bool can_exchange() const override { return true; }
  bool put(std::string_view key, std::span<const std::byte> value, std::string& error) override;
  bool exchange(std::string& error) override;
  bool get(std::uint32_t rank, std::string_view key, unsigned timeout_seconds, std::vector<std::byte>& value,
           std::string& error) override;
  bool barrier(std::string& error) override { return fence(error); }
  std::unique_ptr<AdapterSource> open_adapter_events() override;
  void abort(int status, std::string_view message) override;

 private:
  bool read_size(std::string& error);
  void read_local_tasks();
  bool take_cookie(std::string& error);
  bool fetch_cookie(std::string& error);
  bool fence(std::string& error);

  const PmixIdentity identity_;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> local_tasks_;
  std::optional<SipKey> key_;  // the cookie, and what the packets' key has beyond it
  bool of_lapirun_ = false;    // the same for all tasks of the job
};

bool PmixBootstrap::open(std::string& error) {
  if (!read_size(error)) return false;
  read_local_tasks();
  return take_cookie(error);
}

bool PmixBootstrap::read_size(std::string& error) {
  PmixValue value;
  if (!read_job_value(identity_, PMIX_JOB_SIZE, value) || value->type != PMIX_UINT32) {
    error = "the PMIx launcher does not say how many tasks the job has (PMIX_JOB_SIZE)";
    return false;
  }
  size_ = value->data.uint32;
  if (identity_.rank < size_) return true;
  error =
      "the PMIx launcher calls this task " + std::to_string(identity_.rank) + " in a job of " + std::to_string(size_);
  return false;
}

// A launcher that does not say who is near leaves the task alone on its node: right, only slower.
void PmixBootstrap::read_local_tasks() {
  PmixValue value;
  if (read_job_value(identity_, PMIX_LOCAL_PEERS, value) && value->type == PMIX_STRING &&
      parse_peers(value->data.string, identity_.rank, size_, local_tasks_))
    return;
  local_tasks_.assign(1, identity_.rank);
}

// lapirun gives both halves with the job's data; under other launchers task 0 makes them and the first exchange brings
// them.
bool PmixBootstrap::take_cookie(std::string& error) {
  PmixValue cookie, rest;
  if (read_job_value(identity_, kJobCookieKey, cookie) && cookie->type == PMIX_UINT64 &&
      read_job_value(identity_, kPacketKeyKey, rest) && rest->type == PMIX_UINT64) {
    key_ = {cookie->data.uint64, rest->data.uint64};
    of_lapirun_ = true;
    return true;
  }
  if (identity_.rank != 0) return true;
  std::array<std::uint64_t, 2> halves{};
  if (getrandom(halves.data(), sizeof halves, 0) != sizeof halves) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return false;
  }
  if (!put(kJobCookieKey, std::as_bytes(std::span(halves)), error)) return false;
  key_ = {halves[0], halves[1]};
  return true;
}

bool PmixBootstrap::fetch_cookie(std::string& error) {
  std::vector<std::byte> bytes;
  if (!get(0, kJobCookieKey, kJobCookieWaitSeconds, bytes, error)) return false;
  std::array<std::uint64_t, 2> halves{};
  if (bytes.size() != sizeof halves) {
    error = "task 0 published a job cookie of " + std::to_string(bytes.size()) + " bytes instead of 16";
    return false;
  }
  std::memcpy(halves.data(), bytes.data(), sizeof halves);
  key_ = {halves[0], halves[1]};
  return true;
}

bool PmixBootstrap::put(std::string_view key, std::span<const std::byte> value, std::string& error) {
  pmix_value_t outgoing;
  PMIX_VALUE_CONSTRUCT(&outgoing);
  outgoing.type = PMIX_BYTE_OBJECT;
  // PMIx_Put copies the bytes and does not write to them.
  outgoing.data.bo.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(value.data()));
  outgoing.data.bo.size = value.size();
  const std::string name(key);
  return !failed(PMIx_Put(PMIX_GLOBAL, name.c_str(), &outgoing), "PMIx_Put of " + name, error);
}

bool PmixBootstrap::exchange(std::string& error) {
  if (failed(PMIx_Commit(), "PMIx_Commit", error) || !fence(error)) return false;
  return key_.has_value() || fetch_cookie(error);
}

// lapirun's fence is a barrier in any case, and what a task has put moves only to the nodes that ask for it. Slurm's
// plugin lets tasks leave a fence that collects nothing before all came.
bool PmixBootstrap::fence(std::string& error) {
  const LongWait shown({WaitedCall::exchange});
  PmixOption collect(PMIX_COLLECT_DATA, !of_lapirun_, PMIX_BOOL);
  return !failed(PMIx_Fence(nullptr, 0, collect.get(), 1), "PMIx_Fence", error);
}

bool PmixBootstrap::get(std::uint32_t rank, std::string_view key, unsigned timeout_seconds,
                        std::vector<std::byte>& value, std::string& error) {
  const pmix_proc_t owner = process_of(identity_, rank);
  const std::string name(key);
  const std::string call = "PMIx_Get of " + name + " of task " + std::to_string(rank);
  const int seconds = static_cast<int>(std::min(timeout_seconds, 86400U));
  PmixOption limit =
      seconds == 0 ? PmixOption(PMIX_IMMEDIATE, true, PMIX_BOOL) : PmixOption(PMIX_TIMEOUT, seconds, PMIX_INT);
  PmixValue found;
  if (failed(PMIx_Get(&owner, name.c_str(), limit.get(), 1, found.out()), call, error)) return false;
  if (found->type != PMIX_BYTE_OBJECT) {
    error = call + ": not bytes, but PMIx type " + std::to_string(found->type);
    return false;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(found->data.bo.bytes);
  value.assign(bytes, bytes + found->data.bo.size);
  return true;
}

// Those of one node have the same adapters, and see them. Of other launchers' servers some pass events to no other
// node, and some hang with the first one (control/README.md).
std::unique_ptr<AdapterSource> PmixBootstrap::open_adapter_events() {
  const bool is_of_use = of_lapirun_ && local_tasks_.size() < size_;
  return is_of_use ? openlapi::open_adapter_events(identity_) : nullptr;
}

void PmixBootstrap::abort(int status, std::string_view message) {
  // The launcher may end this task before PMIx_Abort returns, or never answer.
  try {
    std::thread([status] {
      std::this_thread::sleep_for(kAbortLimit);
      _exit(status);
    }).detach();
  } catch (...) {
    _exit(status);
  }
  PMIx_Abort(status, std::string(message).c_str(), nullptr, 0);
  _exit(status);
}

}  // namespace

std::shared_ptr<Bootstrap> open_pmix_bootstrap(std::string& error) {
  // Kept for the life of the process, with its cookie: LAPI may be initialised again after LAPI_Term.
  static std::mutex lock;
  static std::shared_ptr<Bootstrap> opened;
  std::lock_guard held(lock);
  if (opened) return opened;
  const PmixIdentity* identity = open_pmix_session(error);
  if (identity == nullptr) return nullptr;
  auto bootstrap = std::make_shared<PmixBootstrap>(*identity);
  if (!bootstrap->open(error)) return nullptr;
  opened = std::move(bootstrap);
  return opened;
}

}  // namespace openlapi
