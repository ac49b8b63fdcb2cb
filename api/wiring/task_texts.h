// What each task says of itself with its first exchange, and who compares it with whom: a task with the first one of
// its node, and that one with task 0, so that one question per node crosses the network. One short entry holds all of
// it: whatever a task publishes is kept for every task of the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

// Each of one line.
struct TaskTexts {
  std::string library;    // libraries.h
  std::string variables;  // mistyped_variables.h; empty: there is nothing to say
};

// Before the exchange. False: `reason`.
bool publish_texts(Bootstrap& bootstrap, const TaskTexts& texts, std::string& reason);

// After it: what task `task` has published. False: `reason`.
bool published_texts(Bootstrap& bootstrap, std::uint32_t task, TaskTexts& texts, std::string& reason);

// With whom this task compares itself; task 0: with itself.
std::uint32_t task_to_compare_with(const Bootstrap& bootstrap);

// Of neighbours with the same text the first one speaks for all.
bool is_said_by_another(Bootstrap& bootstrap, std::string TaskTexts::*text, std::string_view own);

}  // namespace openlapi
