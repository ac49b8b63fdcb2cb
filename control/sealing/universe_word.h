// The name of a universe, made from the key of its boot: tells its daemons from those of others, on command lines and
// in files, and shows nothing of the key.
#pragma once

#include <string>

#include "control/sealing/sealed_direction.h"

namespace openlapi::sealing {

// 32 hexadecimal digits. Throws std::runtime_error: libcrypto does not work.
std::string universe_word(const Key& key);

}  // namespace openlapi::sealing
