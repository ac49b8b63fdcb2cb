// What namstat prints of the network availability matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/messages/daemon_message.h"

namespace openlapi::daemon {

// All that namstat knows.
struct Matrix {
  std::uint64_t version = 0;
  UniverseMessage universe{};
  std::vector<NodeAdapters> rows{};
  std::vector<AdapterChange> changes{};
};

// No adapter is down or unknown, and no daemon lost.
bool is_all_up(const Matrix& matrix);

// For people: a line for each node and a column for each network, then what is down.
std::string table_of(const Matrix& matrix);
// Changes whose number is above `known`, one a line.
std::string history_of(const Matrix& matrix, std::uint64_t known);

// For programs, one line each.
std::string json_of(const Matrix& matrix);
std::string json_history_of(const Matrix& matrix, std::uint64_t known);

}  // namespace openlapi::daemon
