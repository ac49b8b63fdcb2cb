// How a task learns who it is and finds the others: six functions over opaque bytes. The task's own launcher decides
// the provider: PMIx (lapirun, mpirun, srun --mpi=pmix) or the guide's standalone environment (chapter 16), in user
// space mode with the network table of its node's lamd.
//
// All calls come from one thread at a time (LAPI_Init, or the engine under the context's lock). Each returns false with
// a reason in `error` when it fails; nothing is changed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/client/adapter_source.h"
#include "dataplane/base/siphash.h"

namespace openlapi {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual std::string_view name() const = 0;  // "pmix" or "standalone"
  virtual std::uint32_t task() const = 0;     // this one, 0 .. size()-1
  virtual std::uint32_t size() const = 0;     // tasks in the job

  // The tasks on this task's node, itself included, ascending (PMIX_LOCAL_PEERS, or MP_COMMON_TASKS).
  virtual const std::vector<std::uint32_t>& local_tasks() const = 0;

  // 64 bits that all tasks of the job share and nobody else can guess. PMIx: random, given by lapirun; under other
  // launchers task 0 makes it and it is 0 for the others until the first exchange(). Standalone: from MP_PARTITION and
  // the user's secret, if one was asked for; without it whoever guesses MP_PARTITION has the cookie, too.
  virtual std::uint64_t job_cookie() const = 0;

  // The key that packets prove the job with, 128 bits: the cookie, and as many again where the launcher gives them.
  virtual SipKey packet_key() const { return {job_cookie(), 0x79656b2074656b63}; }  // else "cket key"

  // Whether put/get/exchange/barrier move anything. Standalone: only with a network table; else peers are known by the
  // user's own means.
  virtual bool can_exchange() const = 0;

  // Publishes `value` under `key`; visible to others after the next exchange(). A few dozen bytes; what a
  // node tells of its networks and of its tasks has at most 433 for each transport.
  virtual bool put(std::string_view key, std::span<const std::byte> value, std::string& error) = 0;

  // Collective: makes what was put visible, and is a barrier. Under lapirun data moves only to whoever asks for it by
  // get(); other launchers bring everything to every node (Slurm's fence without data is no barrier).
  virtual bool exchange(std::string& error) = 0;

  // What `task` put under `key`; blocks until it is here or `timeout_seconds` are over (0: does not wait).
  virtual bool get(std::uint32_t task, std::string_view key, unsigned timeout_seconds, std::vector<std::byte>& value,
                   std::string& error) = 0;

  // Collective: no task returns before all have come.
  virtual bool barrier(std::string& error) = 0;

  // By which the job's tasks tell each other of their adapters. Null: the launcher has no way for that, or nobody is
  // far.
  virtual std::unique_ptr<AdapterSource> open_adapter_events() { return nullptr; }

  // Ends the whole job, with that exit status, as the launcher allows (PMIx_Abort; standalone: this task only). The
  // caller has printed the message, which is for the launcher.
  virtual void abort(int status, std::string_view message) = 0;
};

// Reads one environment variable; null when unset. Handed in so that tests need not change the process's environment.
using ReadEnvironment = std::function<const char*(const char*)>;

// Whether a PMIx launcher is there. Initialises PMIx at most once per process and keeps it until the process ends (LAPI
// may be initialised again after LAPI_Term); null when no launcher answers, with the reason.
std::shared_ptr<Bootstrap> open_pmix_bootstrap(std::string& error);

// Where the secret is that keeps strangers out of a job without a launcher (shared_secret.h).
struct SecretPlace {
  std::string file;  // empty: the user's own file in the folder that HOME names
};

// The standalone environment: MP_CHILD, MP_PROCS, MP_PARTITION and MP_COMMON_TASKS. Null: `error` names the variable,
// its value and what is allowed, or what is wrong with the secret; `missing` is true when a required variable is not
// set at all. Without `secret` the cookie comes from MP_PARTITION alone.
std::shared_ptr<Bootstrap> open_standalone_bootstrap(const ReadEnvironment& read,
                                                     const std::optional<SecretPlace>& secret, std::string& error,
                                                     bool& missing);

// What MP_PARTITION and MP_LAPI_NETWORK of a task say.
struct WindowRequest {
  std::string job_key;
  std::vector<std::pair<std::uint32_t, std::string>> windows;  // number and adapter
  bool operator==(const WindowRequest&) const = default;
};

struct WindowFailure {
  bool no_daemon = false;  // there is none to ask; else `text` is its answer
  std::string text;
};

// A standalone task that can exchange, through lamd, which has the network table of its job. `devices` gets the device
// of each window's adapter; empty: the adapter's name. The windows are the task's as long as the object lives.
// exchange() and barrier() wait for the other tasks without a limit. Null: `failure` says why.
std::shared_ptr<Bootstrap> open_window_bootstrap(std::shared_ptr<Bootstrap> standalone, const WindowRequest& request,
                                                 std::vector<std::string>& devices, WindowFailure& failure);

}  // namespace openlapi
