// What Slurm says about the allocation in which we run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/boot/schemas/host_schema.h"

namespace openlapi::boot {

// Empty: there is none, and this is why.
std::string why_no_slurm_allocation();

// Reads a list of Slurm's: "2(x3),1" is 2, 2, 2, 1. Throws BootError that names the variable if it is no such list, or
// not one for `count` nodes.
std::vector<int> slurm_counts(std::string_view text, const std::string& variable, std::size_t count);

// The allocation's nodes in Slurm's order, each with as many processors as tasks were asked for there. Runs scontrol.
// Throws BootError.
std::vector<HostEntry> slurm_hosts();

// The words in front of a command that srun shall run once on that host, beside all else that runs there.
std::vector<std::string> srun_words(const std::string& host);

}  // namespace openlapi::boot
