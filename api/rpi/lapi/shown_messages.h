// Where debuggers look for messages that nobody has asked for: the services' queue (rpi SSI specification, 3.5.2). LAM
// searches it from its beginning for what is taken out, so that many messages in it cost the square of their number.
// While no debugger is there it has the oldest ones only, and what a debugger was shown that has gone.
#pragma once

#include <cstddef>

#include "api/rpi/lapi/arrival.h"
#include "api/rpi/lapi/mpi_layer.h"

namespace openlapi::rpi {

// All of them, in the order of their arrival.
using UnaskedArrivals = LinkedList<Arrival, &Arrival::unasked_links>;

class ShownMessages {
 public:
  static constexpr std::size_t kFew = 32;             // without a debugger
  static constexpr std::size_t kBetweenLooks = 1024;  // messages that are not shown, between two looks for one

  explicit ShownMessages(MpiLayer& layer) : layer_(layer) {}

  // `arrival` is the last of all now.
  void added(Arrival& arrival);
  // `arrival` is still among all.
  void removed(Arrival& arrival);
  // A debugger may have come or gone.
  void look();
  // No more are shown: the processes that they are from go.
  void end() { first_hidden_ = nullptr; }

 private:
  void show();

  MpiLayer& layer_;
  Arrival* first_hidden_ = nullptr;  // all before it are shown
  std::size_t shown_ = 0, until_look_ = 0;
  bool to_debugger_ = false;
};

}  // namespace openlapi::rpi
