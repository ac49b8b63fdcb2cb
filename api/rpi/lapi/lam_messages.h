// ProcessMessages that LAM's daemons carry.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tuple>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/lapi/process_messages.h"

namespace openlapi::rpi {

// What a process is known by.
inline auto place_of(const _gps& gps) { return std::tuple(gps.gps_node, gps.gps_idx, gps.gps_pid); }

// Whether the host that has loaded the module has what is needed.
bool host_has_messages();

// What processes say to each other is for one purpose: left-overs of the other are not taken for it.
enum class LamMeeting : std::uint8_t { paths, checkpoints };

// `processes`: by rank, which is not MPI's; `own` is one of them.
std::unique_ptr<ProcessMessages> open_lam_messages(std::span<const _gps> processes, const _gps& own,
                                                   LamMeeting meeting = LamMeeting::paths);

}  // namespace openlapi::rpi
