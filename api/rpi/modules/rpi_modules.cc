#include "api/rpi/modules/rpi_modules.h"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "api/rpi/services/process_list.h"
#include "control/ssi/module_finder.h"
#include "control/ssi/ssi_error.h"

int lam_ssi_rpi_did = -1;
int lam_ssi_rpi_verbose = -1;

namespace openlapi::rpi {
namespace {

constexpr int kStandardError = 2;
constexpr int kSilent = -1;

void drop_half_a_checkpoint(lam_ssi_rpi_actions_1_1_0_t& actions) {
  if (actions.lsra_checkpoint != nullptr && actions.lsra_continue != nullptr && actions.lsra_restart != nullptr) return;
  actions.lsra_checkpoint = nullptr;
  actions.lsra_continue = nullptr;
  actions.lsra_restart = nullptr;
}

auto version(const lam_ssi_1_0_0_t& meta) {
  return std::tuple(meta.ssi_module_major_version, meta.ssi_module_minor_version, meta.ssi_module_release_version);
}

}  // namespace

void RpiModules::open(OPT* options) {
  if (!opened_.empty()) throw ssi::SsiError("the rpi modules are open already");
  lam_ssi_rpi_did = kStandardError;
  lam_ssi_rpi_verbose = kind_.verbose_parameter(kSilent);
  named_ = kind_.named_module();
  opened_ =
      ssi::open_modules(kind_, named_, ssi::find_modules(kind_, built_in_, ssi::module_search_path(), named_), options);
  for (const ssi::FoundModule& module : opened_) {
    const char* name = module.name.c_str();
    if (lam_ssi_base_param_find("rpi", name, "priority") >= 0) continue;
    lam_ssi_base_param_register_int("rpi", name, "priority", nullptr, 0);
  }
}

std::optional<RpiModules::Candidate> RpiModules::query(const ssi::FoundModule& module) const {
  // Both interfaces have it in the same place.
  const auto* rpi = reinterpret_cast<const lam_ssi_rpi_1_1_0_t*>(module.meta);
  Candidate candidate{module};
  if (rpi->lsr_query == nullptr ||
      rpi->lsr_query(&candidate.priority, &candidate.thread_min, &candidate.thread_max) != 1) {
    kind_.trace(module, "does not want to be used");
    return {};
  }
  const std::string levels = std::to_string(candidate.thread_min) + " to " + std::to_string(candidate.thread_max);
  if (candidate.thread_min < MPI_THREAD_SINGLE || candidate.thread_max > MPI_THREAD_MULTIPLE ||
      candidate.thread_min > candidate.thread_max) {
    kind_.print_error(module, " is left out: its thread levels are " + levels + "; allowed: 0 to 3");
    return {};
  }
  kind_.trace(module, "priority " + std::to_string(candidate.priority) + ", thread levels " + levels);
  return candidate;
}

bool RpiModules::is_before(const Candidate& left, const Candidate& right) {
  if (left.priority != right.priority) return left.priority > right.priority;
  if (left.found.name != right.found.name) return left.found.name > right.found.name;
  return version(*left.found.meta) > version(*right.found.meta);
}

std::vector<RpiModules::Candidate> RpiModules::query_all() {
  std::vector<Candidate> candidates;
  for (const ssi::FoundModule& module : std::exchange(opened_, {})) {
    if (auto candidate = query(module)) {
      candidates.push_back(std::move(*candidate));
    } else {
      ssi::close_module(kind_, module);
    }
  }
  std::ranges::stable_sort(candidates, is_before);
  return candidates;
}

int RpiModules::select(int thread_level) {
  if (!name_.empty()) throw ssi::SsiError("an rpi module is selected already: " + name_);
  if (opened_.empty()) throw ssi::SsiError("no rpi module is open");
  if (thread_level < MPI_THREAD_SINGLE || thread_level > MPI_THREAD_MULTIPLE) {
    throw ssi::SsiError("thread level " + std::to_string(thread_level) + " was asked for; allowed: 0 to 3");
  }
  const std::vector<Candidate> candidates = query_all();
  if (candidates.empty()) kind_.refuse(named_, "this module does not want to be used here");
  // The lowest level is everyone's.
  const auto has_level = [&](const Candidate& each) { return each.thread_max >= thread_level; };
  while (std::ranges::none_of(candidates, has_level)) --thread_level;
  const auto best = std::ranges::find_if(candidates, has_level);
  for (auto each = candidates.begin(); each != candidates.end(); ++each) {
    if (each != best) ssi::close_module(kind_, each->found);
  }
  opened_ = {best->found};
  name_ = best->found.name;
  kind_.trace(best->found, "selected");
  return std::max(thread_level, best->thread_min);
}

MessageLimits RpiModules::init(std::span<_proc* const> processes, MessageLimits limits) {
  if (name_.empty()) throw ssi::SsiError("no rpi module is selected");
  if (actions_) throw ssi::SsiError("rpi module " + name_ + " is initialised already");
  const std::string module = "rpi module " + name_;
  if (lam_ssi_rpi_cbuf_init() != 0) throw std::bad_alloc();
  actions_ = initialise(opened_.front(), processes, limits);
  const bool started = actions_.has_value(), whole = started && has_functions(*actions_);
  if (whole) {
    drop_half_a_checkpoint(*actions_);
    finalize_processes_with(actions_->lsra_finalize);
    return limits;
  }
  if (started && actions_->lsra_finalize == nullptr) actions_.reset();
  close();
  throw ssi::SsiError(module + (started ? " lacks functions of sections 4.5 to 4.15" : " cannot be initialised"));
}

void RpiModules::add_processes(std::span<_proc* const> processes) {
  if (!actions_) throw ssi::SsiError("no rpi module is initialised");
  // The array is the module's until it returns.
  std::vector<_proc*> own(processes.begin(), processes.end());
  for (_proc* process : own) process->p_mode |= LAM_PRPIADDED;
  const int result = actions_->lsra_addprocs(own.data(), static_cast<int>(own.size()));
  for (_proc* process : processes) process->p_mode &= ~LAM_PRPIADDED;
  if (result != 0)
    throw ssi::SsiError("rpi module " + name_ + " cannot add " + std::to_string(own.size()) + " processes");
}

void RpiModules::close() {
  if (actions_ && actions_->lsra_finalize(nullptr) != 0) kind_.print_error(opened_.front(), ": finalize failed");
  actions_.reset();
  finalize_processes_with(nullptr);
  lam_ssi_rpi_cbuf_end();
  for (const ssi::FoundModule& module : opened_) ssi::close_module(kind_, module);
  opened_.clear();
  name_.clear();
}

}  // namespace openlapi::rpi
