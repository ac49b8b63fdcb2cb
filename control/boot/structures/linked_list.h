// What LIST can do besides all_list.h.
#pragma once

#include "control/boot/include/all_list.h"

namespace openlapi::boot {

using ReleaseElement = void (*)(void* element);

// From now on the list calls it before it frees an element's own bytes: what the element points to is the list's.
void release_elements_with(LIST* list, ReleaseElement release);

}  // namespace openlapi::boot
