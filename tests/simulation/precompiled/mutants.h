// What the files with mistakes mostly include; compiled once for all of them, as tests/unit/precompiled.
#ifndef OPENLAPI_MUTANTS_H
#define OPENLAPI_MUTANTS_H

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#endif
