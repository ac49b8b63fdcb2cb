// Whether another process looks at this one as debuggers do.
#pragma once

namespace openlapi::rpi {

bool is_traced();

}  // namespace openlapi::rpi
