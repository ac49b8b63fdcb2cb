// What each task says of itself with its first exchange, and who compares it with whom: a task with the first one of
// its node, and that one with task 0, so that one question per node crosses the network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/bootstrap.h"

namespace openlapi {

// Before the exchange. False: `reason`.
bool publish_text(Bootstrap& bootstrap, std::string_view key, std::string_view text, std::string& reason);

// After it: what task `task` has published. False: `reason`.
bool published_text(Bootstrap& bootstrap, std::uint32_t task, std::string_view key, std::string& text,
                    std::string& reason);

// With whom this task compares itself; task 0: with itself.
std::uint32_t task_to_compare_with(const Bootstrap& bootstrap);

// Of neighbours with the same text the first one speaks for all.
bool is_said_by_another(Bootstrap& bootstrap, std::string_view key, std::string_view own);

}  // namespace openlapi
