#include "api/rpi/lapi/fault_texts.h"

namespace openlapi::rpi {

bool is_loss(Fault fault) {
  switch (fault) {
    case Fault::unknown_handler:
    case Fault::not_own_memory:
    case Fault::origin_vector:
    case Fault::target_vector:
    case Fault::program_memory:
      return false;
    default:
      return true;  // or something of the peer's would be waited for that never comes
  }
}

const char* text_of(Fault fault) {
  switch (fault) {
    case Fault::timeout:
      return "it has not answered within the time-out";
    case Fault::adapters_down:
      return "no adapter here is up";
    case Fault::no_path:
      return "it has not answered within the time-out over any adapter";
    case Fault::no_connectivity:
      return "it has ended, or cannot be reached";
    case Fault::too_much_kept:
      return "it has left more unfinished here than a process may, and is cut off";
    case Fault::other_secret:
      return "its packets are made with another key";
    case Fault::other_version:
      return "it runs an openlapi of another wire version";
    case Fault::lost_for_good:
      return "it has not answered in time too often";
    case Fault::out_of_memory:
      return "there is no memory for what it has sent";
    case Fault::target_out_of_memory:
      return "it has no memory to answer";
    default:
      return "it disagrees with this process about what was sent";
  }
}

}  // namespace openlapi::rpi
