#include "api/rpi/lapi/meeting_message.h"

namespace openlapi::rpi {

const std::uint32_t kModuleVersion = 2;

}  // namespace openlapi::rpi
