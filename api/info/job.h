// lapi_info --job: how the tasks of the job that it is started in reach each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace openlapi::info {

// To be called by all tasks of a job. Task 0 prints every task's paths. The exit status: 1 when LAPI_Init fails or, in
// task 0, when some task cannot be reached by another one.
int show_job(bool json);

// "0-3,7" for tasks in ascending order.
std::string ranges(std::span<const std::uint32_t> tasks);

}  // namespace openlapi::info
