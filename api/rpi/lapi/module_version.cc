#include "api/rpi/lapi/meeting_message.h"

namespace openlapi::rpi {

const std::uint32_t kModuleVersion = 1;

}  // namespace openlapi::rpi
