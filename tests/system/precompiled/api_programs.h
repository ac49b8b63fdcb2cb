// What the programs mostly include; compiled once for all of them, as tests/unit/precompiled.
#ifndef OPENLAPI_API_PROGRAMS_H
#define OPENLAPI_API_PROGRAMS_H

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lapi.h"

#endif
