#include "nic/modules/announced_modules.h"

#include <algorithm>
#include <iterator>

#include "nic/modules/dpdk_announcement.h"
#include "nic/modules/verbs_announcement.h"

namespace openlapi {
namespace {

constexpr ModuleAnnouncement kAnnounced[] = {verbs::kAnnouncement, dpdk::kAnnouncement};

}  // namespace

std::span<const ModuleAnnouncement> announced_modules() { return kAnnounced; }

const ModuleAnnouncement* announced_module(std::string_view name) {
  const auto* const found = std::ranges::find(kAnnounced, name, &ModuleAnnouncement::name);
  return found != std::end(kAnnounced) ? found : nullptr;
}

}  // namespace openlapi
