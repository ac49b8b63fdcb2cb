// Checks whether the tasks of a job run compatible libraries. Each task publishes what its library is
// (TaskTexts::library).
//
// Libraries of the same wire version are compatible: whatever changes packets, records, published addresses or the
// layout of shared memory raises that version (CONTRIBUTING.md). Different builds of one wire version may be mixed; at
// MP_INFOLEVEL=1 the user is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

unsigned wire_version();

// "2 0.2.0, built ..., build ...": the wire version, and the rest for people.
std::string own_library();

// How the libraries of two tasks compare.
enum class LibraryMatch { same, other_build, other_wire_version };
LibraryMatch match_libraries(std::string_view own, std::string_view other);

// Call it after the exchange. False: not compatible, or the other task's library cannot be found out; see `reason`.
bool compare_libraries(Bootstrap& bootstrap, int info_level, std::string& reason);

// For people: task `self` has this library, and what comes from `other` has another wire version.
std::string describe_other_version(std::uint32_t self, std::uint32_t other, unsigned version);

}  // namespace openlapi
