// What each task says about itself in its first exchange, and which tasks are compared: each task with the first one of
// its node, and that one with task 0, so that one question per node crosses the network. Everything is in one short
// entry, since whatever a task publishes is stored for every task of the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/client/bootstrap.h"

namespace openlapi {

// Each text is one line.
struct TaskTexts {
  std::string library;    // libraries.h
  std::string variables;  // mistyped_variables.h; empty: there is nothing to say
};

// Call it before the exchange. False: see `reason`.
bool publish_texts(Bootstrap& bootstrap, const TaskTexts& texts, std::string& reason);

// Call it after the exchange: what task `task` has published. False: see `reason`.
bool published_texts(Bootstrap& bootstrap, std::uint32_t task, TaskTexts& texts, std::string& reason);

// The task that this task compares itself with; for task 0 itself.
std::uint32_t task_to_compare_with(const Bootstrap& bootstrap);

// Among neighbours with the same text only the first one reports it.
bool is_said_by_another(Bootstrap& bootstrap, std::string TaskTexts::*text, std::string_view own);

}  // namespace openlapi
