// Whether the tasks of a job run libraries that understand each other: what each one is stands among the texts that
// they publish (TaskTexts::library).
//
// Libraries of one wire version understand each other: whatever changes packets, records, published addresses or the
// layout of shared memory raises it (CONTRIBUTING.md). Two builds of one wire version may be mixed, which at
// MP_INFOLEVEL=1 is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

unsigned wire_version();

// "2 0.2.0, built ..., build ...": the wire version, and the rest for people.
std::string own_library();

// What two tasks' libraries have to say to each other.
enum class LibraryMatch { same, other_build, other_wire_version };
LibraryMatch match_libraries(std::string_view own, std::string_view other);

// After the exchange. False: they do not understand each other, or the other task's cannot be found out; `reason`.
bool compare_libraries(Bootstrap& bootstrap, int info_level, std::string& reason);

// For people: task `self` has this library, and what comes from `other` is of another wire version.
std::string describe_other_version(std::uint32_t self, std::uint32_t other, unsigned version);

}  // namespace openlapi
