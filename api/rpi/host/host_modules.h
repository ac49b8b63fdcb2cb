// Many rpi modules in one process (rpi SSI specification, 5.1), each with its own peers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/rpi/host/host_request.h"
#include "api/rpi/modules/rpi_modules.h"

namespace openlapi::rpi {

// A module and the peers that it can reach.
struct ModuleShare {
  std::string name{};
  std::function<bool(const _proc&)> reaches{};
};

// There is one in a process at a time.
class HostModules {
 public:
  explicit HostModules(std::span<const lam_ssi_1_0_0_t* const> built_in = {}) : built_in_(built_in) {}
  ~HostModules() { close(); }
  HostModules(const HostModules&) = delete;
  HostModules& operator=(const HostModules&) = delete;

  // Opens and queries these. Returns the thread level that all of them give, at most the one asked for. Throws
  // SsiError: one is not there, or does not want to be used.
  int open(std::vector<ModuleShare> shares, int thread_level, OPT* options = nullptr);
  // Initialises each with those processes that no module before it reaches; each may lower the limits. Throws SsiError:
  // a module fails, or none reaches a process.
  MessageLimits init(std::span<_proc* const> processes, MessageLimits limits);
  void add_processes(std::span<_proc* const> processes);
  // Ends all of them, the last one first.
  void close();

  // For the host.
  std::vector<DrivenModule*> modules();
  // nullptr: none reaches it.
  DrivenModule* module_of(const _proc& process) const;

 private:
  struct Open {
    ModuleShare share{};
    ssi::FoundModule found{};
    DrivenModule driven{};
    bool is_initialised = false;
  };

  int query(const Open& module, int thread_level) const;
  std::vector<std::vector<_proc*>> shares_of(std::span<_proc* const> processes);
  void initialise_one(Open& module, std::span<_proc* const> own, MessageLimits& limits);
  static int finalize_process(_proc* process);

  const ssi::ModuleKind kind_{"rpi", lam_ssi_rpi_did, lam_ssi_rpi_verbose};
  std::span<const lam_ssi_1_0_0_t* const> built_in_;
  std::vector<std::unique_ptr<Open>> open_{};
  std::unordered_map<const _proc*, DrivenModule*> module_of_{};
  bool is_ended_ = true;
};

}  // namespace openlapi::rpi
