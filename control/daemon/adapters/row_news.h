// Which rows of the matrix each neighbour still has to be told. A neighbour gets one message at a time, and the next
// one after it has confirmed the last. So a neighbour that is slow, or hangs for a while, later gets only the latest
// row of each node, and what waits for it is bounded, both here and in the sockets. Passive.
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

  // Over a new link it is told all rows: what was sent over an earlier link may have been lost.
  void linked(std::uint32_t neighbour);
  void gone(std::uint32_t neighbour) { neighbours_.erase(neighbour); }
  // The rows of these nodes are new; `except` is the neighbour that they came from.
  void changed(const std::vector<std::uint32_t>& nodes, std::optional<std::uint32_t> except);
  // The neighbour has confirmed the last message.
  void taken(std::uint32_t neighbour);

 private:
  struct Neighbour {
    std::set<std::uint32_t> nodes{};  // whose rows it is to be told
    bool takes = false;               // a message was sent that it has not confirmed
  };
  void tell(std::uint32_t number, Neighbour& neighbour);

  const AdapterTable& table_;
  const Send send_;
  std::map<std::uint32_t, Neighbour> neighbours_{};
};

}  // namespace openlapi::daemon
