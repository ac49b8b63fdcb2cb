// ProcessMessages that LAM's daemons carry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tuple>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/lapi/process_messages.h"
#include "dataplane/base/clock.h"

namespace openlapi::rpi {

// What a process is known by.
inline auto place_of(const _gps& gps) { return std::tuple(gps.gps_node, gps.gps_idx, gps.gps_pid); }

// Whether the host that has loaded the module has what is needed.
bool host_has_messages();

// What processes say to each other is for one purpose: left-overs of another are not taken for it.
enum class LamMeeting : std::uint8_t { paths, checkpoints, introductions };

// `processes`: by rank, which is not MPI's; `own` is one of them.
std::unique_ptr<ProcessMessages> open_lam_messages(std::span<const _gps> processes, const _gps& own,
                                                   LamMeeting meeting = LamMeeting::paths);

// While one lives, whoever waits for LAM's messages also does this: others need it before they can say anything.
class WhileWaiting {
 public:
  explicit WhileWaiting(std::function<void()> step);
  ~WhileWaiting();
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
};

// Between looks for LAM's messages.
void rest_between_looks(Nanoseconds length);

}  // namespace openlapi::rpi
