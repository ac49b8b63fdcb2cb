// lsr_init of both interfaces.
#include "api/rpi/modules/rpi_modules.h"

namespace openlapi::rpi {
namespace {

// What 1.0.0 has, under the names of 1.1.0.
lam_ssi_rpi_actions_1_1_0_t converted(const lam_ssi_rpi_actions_1_0_0_t& from) {
  return {
      .lsra_addprocs = from.lsra_addprocs,
      .lsra_finalize = from.lsra_finalize,
      .lsra_build = from.lsra_build,
      .lsra_start = from.lsra_start,
      .lsra_advance = from.lsra_advance,
      .lsra_destroy = from.lsra_destroy,
      .lsra_iprobe = from.lsra_iprobe,
      .lsra_fastrecv = from.lsra_fastrecv,
      .lsra_fastsend = from.lsra_fastsend,
      .lsra_alloc_mem = from.lsra_alloc_mem,
      .lsra_free_mem = from.lsra_free_mem,
      .lsra_interrupt = nullptr,
      .lsra_checkpoint = from.lsra_checkpoint,
      .lsra_continue = from.lsra_continue,
      .lsra_restart = from.lsra_restart,
      .lsra_tv_queue_support = from.lsra_tv_queue_support,
  };
}

// A limit may be lowered, no more.
int lowered(int limit, int asked) { return asked > 0 && asked < limit ? asked : limit; }

template <typename Module>
auto call_init(const ssi::FoundModule& module, std::span<_proc* const> processes, MessageLimits& limits) {
  const auto* rpi = reinterpret_cast<const Module*>(module.meta);
  // The array is the module's until it returns.
  std::vector<_proc*> own(processes.begin(), processes.end());
  MessageLimits asked = limits;
  const auto* actions = rpi->lsr_init == nullptr
                            ? nullptr
                            : rpi->lsr_init(own.data(), static_cast<int>(own.size()), &asked.tag, &asked.context);
  limits = {lowered(limits.tag, asked.tag), lowered(limits.context, asked.context)};
  return actions;
}

}  // namespace

std::optional<lam_ssi_rpi_actions_1_1_0_t> initialise(const ssi::FoundModule& module, std::span<_proc* const> processes,
                                                      MessageLimits& limits) {
  if (module.is_1_1()) {
    const auto* actions = call_init<lam_ssi_rpi_1_1_0_t>(module, processes, limits);
    return actions == nullptr ? std::nullopt : std::optional(*actions);
  }
  const auto* actions = call_init<lam_ssi_rpi_1_0_0_t>(module, processes, limits);
  return actions == nullptr ? std::nullopt : std::optional(converted(*actions));
}

bool has_functions(const lam_ssi_rpi_actions_1_1_0_t& actions) {
  return actions.lsra_addprocs != nullptr && actions.lsra_finalize != nullptr && actions.lsra_build != nullptr &&
         actions.lsra_start != nullptr && actions.lsra_advance != nullptr && actions.lsra_destroy != nullptr &&
         actions.lsra_iprobe != nullptr && actions.lsra_alloc_mem != nullptr && actions.lsra_free_mem != nullptr;
}

}  // namespace openlapi::rpi
