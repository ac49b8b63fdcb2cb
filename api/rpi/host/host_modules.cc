#include "api/rpi/host/host_modules.h"

#include <algorithm>
#include <new>

#include "api/rpi/services/process_list.h"
#include "control/ssi/module_finder.h"
#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {
namespace {

HostModules* current = nullptr;  // whose processes lam_procfree finalises

std::string text_of(const _proc& process) {
  return "process " + std::to_string(process.p_gps.gps_pid) + " on node " + std::to_string(process.p_gps.gps_node);
}

}  // namespace

int HostModules::open(std::vector<ModuleShare> shares, int thread_level, OPT* options) {
  if (!open_.empty() || current != nullptr) throw ssi::SsiError("rpi modules are open already");
  if (shares.empty()) throw ssi::SsiError("no rpi module is named");
  current = this;
  lam_ssi_rpi_verbose = kind_.verbose_parameter(-1);
  for (ModuleShare& share : shares) {
    auto found = ssi::find_modules(kind_, built_in_, ssi::module_search_path(), share.name);
    auto opened = ssi::open_modules(kind_, share.name, std::move(found), options);
    Open& module = *open_.emplace_back(std::make_unique<Open>(Open{std::move(share), std::move(opened.front())}));
    thread_level = query(module, thread_level);
  }
  return thread_level;
}

int HostModules::query(const Open& module, int thread_level) const {
  // Both interfaces have it in the same place.
  const auto* rpi = reinterpret_cast<const lam_ssi_rpi_1_1_0_t*>(module.found.meta);
  int priority = 0, least = 0, most = 0;
  if (rpi->lsr_query == nullptr || rpi->lsr_query(&priority, &least, &most) != 1) {
    throw ssi::SsiError("rpi module " + module.share.name + " does not want to be used here");
  }
  const int level = std::min(thread_level, most);
  if (level >= least) return level;
  throw ssi::SsiError("rpi module " + module.share.name + " has thread levels " + std::to_string(least) + " to " +
                      std::to_string(most) + "; allowed: " + std::to_string(thread_level) + " or less");
}

MessageLimits HostModules::init(std::span<_proc* const> processes, MessageLimits limits) {
  const auto shares = shares_of(processes);
  if (lam_ssi_rpi_cbuf_init() != 0) throw std::bad_alloc();
  is_ended_ = false;
  for (std::size_t n = 0; n < open_.size(); ++n) initialise_one(*open_[n], shares[n], limits);
  finalize_processes_with(finalize_process);
  return limits;
}

void HostModules::initialise_one(Open& module, std::span<_proc* const> own, MessageLimits& limits) {
  const std::string name = "rpi module " + module.share.name;
  const auto actions = initialise(module.found, own, limits);
  if (!actions) throw ssi::SsiError(name + " cannot be initialised");
  module.driven = {.name = module.share.name, .actions = *actions};
  module.is_initialised = actions->lsra_finalize != nullptr;
  if (!has_functions(*actions)) throw ssi::SsiError(name + " lacks functions of sections 4.5 to 4.15");
}

std::vector<std::vector<_proc*>> HostModules::shares_of(std::span<_proc* const> processes) {
  std::vector<std::vector<_proc*>> shares(open_.size());
  for (_proc* process : processes) {
    const auto owner = std::ranges::find_if(open_, [&](const auto& each) { return each->share.reaches(*process); });
    if (owner == open_.end()) throw ssi::SsiError("no rpi module reaches " + text_of(*process));
    shares[static_cast<std::size_t>(owner - open_.begin())].push_back(process);
    module_of_[process] = &(*owner)->driven;
  }
  return shares;
}

void HostModules::add_processes(std::span<_proc* const> processes) {
  auto shares = shares_of(processes);
  for (std::size_t n = 0; n < open_.size(); ++n) {
    std::vector<_proc*>& own = shares[n];
    if (own.empty()) continue;
    for (_proc* process : own) process->p_mode |= LAM_PRPIADDED;
    const int result = open_[n]->driven.actions.lsra_addprocs(own.data(), static_cast<int>(own.size()));
    for (_proc* process : own) process->p_mode &= ~LAM_PRPIADDED;
    if (result == 0) continue;
    throw ssi::SsiError("rpi module " + open_[n]->share.name + " cannot add " + std::to_string(own.size()) +
                        " processes");
  }
}

int HostModules::finalize_process(_proc* process) {
  DrivenModule* module = current->module_of(*process);
  if (module == nullptr) return LAMERROR;
  current->module_of_.erase(process);
  return module->actions.lsra_finalize(process);
}

void HostModules::close() {
  if (current != this) return;
  finalize_processes_with(nullptr);
  for (auto module = open_.rbegin(); module != open_.rend(); ++module) {
    if (!(*module)->is_initialised || (*module)->driven.actions.lsra_finalize(nullptr) == 0) continue;
    kind_.print_error((*module)->found, ": finalize failed");
  }
  if (!std::exchange(is_ended_, true)) lam_ssi_rpi_cbuf_end();
  for (auto module = open_.rbegin(); module != open_.rend(); ++module) ssi::close_module(kind_, (*module)->found);
  module_of_.clear();
  open_.clear();
  current = nullptr;
}

std::vector<DrivenModule*> HostModules::modules() {
  std::vector<DrivenModule*> all;
  for (const auto& module : open_) all.push_back(&module->driven);
  return all;
}

DrivenModule* HostModules::module_of(const _proc& process) const {
  const auto found = module_of_.find(&process);
  return found == module_of_.end() ? nullptr : found->second;
}

}  // namespace openlapi::rpi
