// Content that only this user's processes can read, on hosts whose munged has the same key: for what a launcher carries
// between hosts in clear.
#pragma once

#include <string>
#include <string_view>

namespace openlapi::boot {

inline constexpr std::string_view kCredentialBegin = "MUNGE:";

// One line of text without its end; good for MUNGE's usual time (five minutes), and once on each host. Blocks while
// munge(1) runs. Throws BootError: there is no munge, or it reaches no munged.
std::string seal_by_munge(std::string_view content);

// Throws BootError: there is no unmunge, or it refuses the credential.
std::string open_by_munge(std::string_view credential);

}  // namespace openlapi::boot
