// The module `lapi` as a later openlapi may have it.
#include "api/rpi/lapi/meeting_message.h"

namespace openlapi::rpi {

const std::uint32_t kModuleVersion = 3;

}  // namespace openlapi::rpi
