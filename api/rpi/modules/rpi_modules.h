// The life of rpi modules in a process (rpi SSI specification, 3.2, 3.5.2): open, query, select, init, finalize, close.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/include/lam-ssi-rpi.h"
#include "control/ssi/module_kind.h"

namespace openlapi::rpi {

// The largest tag and context that can be used.
struct MessageLimits {
  int tag = 0;
  int context = 0;
};

class RpiModules {
 public:
  // `built_in`: modules that need no shared object.
  explicit RpiModules(std::span<const lam_ssi_1_0_0_t* const> built_in = {}) : built_in_(built_in) {}
  ~RpiModules() { close(); }
  RpiModules(const RpiModules&) = delete;
  RpiModules& operator=(const RpiModules&) = delete;

  // Finds and opens all modules, or the one that LAM_MPI_SSI_rpi names. Throws SsiError: none is left.
  void open(OPT* options);
  // Queries them and keeps one; the others are closed. It is the first in order that has the thread level asked for, or
  // the next one below that any has. In order: the highest priority; of equals the last name, then the highest version.
  // Returns the level that the module gives, which is higher if it has none so low. Throws SsiError.
  int select(int thread_level);
  // Initialises the selected module for these processes, with a new queue of unexpected messages; the module may lower
  // the limits. Throws SsiError; then the module is closed.
  MessageLimits init(std::span<_proc* const> processes, MessageLimits limits);
  // Tells the module of processes that are new. Throws SsiError.
  void add_processes(std::span<_proc* const> processes);
  // Ends what has begun: the module, its queue, and what is open.
  void close();

  // Of the selected module, from init on; nullptr: there is none. lsra_interrupt is NULL if its interface is 1.0.0, and
  // so are the three functions for checkpoints unless it has all three.
  const lam_ssi_rpi_actions_1_1_0_t* actions() const { return actions_ ? &*actions_ : nullptr; }
  const std::string& name() const { return name_; }

 private:
  struct Candidate {
    ssi::FoundModule found{};
    int priority = 0, thread_min = 0, thread_max = 0;
  };

  std::optional<Candidate> query(const ssi::FoundModule& module) const;
  std::vector<Candidate> query_all();
  static bool is_before(const Candidate& left, const Candidate& right);

  const ssi::ModuleKind kind_{"rpi", lam_ssi_rpi_did, lam_ssi_rpi_verbose};
  std::span<const lam_ssi_1_0_0_t* const> built_in_;
  std::string named_{}, name_{};
  std::vector<ssi::FoundModule> opened_{};
  std::optional<lam_ssi_rpi_actions_1_1_0_t> actions_{};
};

// What init() of a module of either interface returns, as actions of 1.1.0; nothing: it failed.
std::optional<lam_ssi_rpi_actions_1_1_0_t> initialise(const ssi::FoundModule& module, std::span<_proc* const> processes,
                                                      MessageLimits& limits);
// All those of sections 4.5 to 4.15 that are not optional.
bool has_functions(const lam_ssi_rpi_actions_1_1_0_t& actions);

}  // namespace openlapi::rpi
