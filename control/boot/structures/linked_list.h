// What LIST can do besides all_list.h.
#pragma once

#include "control/boot/include/all_list.h"

namespace openlapi::boot {

using ReleaseElement = void (*)(void* element);

// From now on the list owns what its elements point to: it calls `release` before it frees an element.
void release_elements_with(LIST* list, ReleaseElement release);

}  // namespace openlapi::boot
