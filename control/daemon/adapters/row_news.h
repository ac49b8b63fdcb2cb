// Rows of the matrix that neighbours are to be told. To each goes one message, and the next one when it has said that
// it has taken that: so a neighbour that is slow, or hangs, gets the latest row of each node then, and not all that
// there were; and what waits for it is bounded, here and in the sockets. Passive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "control/daemon/adapters/adapter_table.h"

namespace openlapi::daemon {

class RowNews {
 public:
  using Send = std::function<void(std::uint32_t neighbour, const AdaptersMessage& message)>;
  RowNews(const AdapterTable& table, Send send) : table_(table), send_(std::move(send)) {}

  // By a new link: it is to know all rows, as what went over another one may have been lost.
  void linked(std::uint32_t neighbour);
  void gone(std::uint32_t neighbour) { neighbours_.erase(neighbour); }
  // The rows of these nodes, for all but who has told of them.
  void changed(const std::vector<std::uint32_t>& nodes, std::optional<std::uint32_t> except);
  // It has taken the last message.
  void taken(std::uint32_t neighbour);

 private:
  struct Neighbour {
    std::set<std::uint32_t> nodes{};  // whose rows it is to be told
    bool takes = false;               // a message
  };
  void tell(std::uint32_t number, Neighbour& neighbour);

  const AdapterTable& table_;
  const Send send_;
  std::map<std::uint32_t, Neighbour> neighbours_{};
};

}  // namespace openlapi::daemon
