// The calls of lapi.h that the tests of the C++ face define: each notes what it was given, as text.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/include/lapi.hpp"

namespace lapi_hpp {

using Calls = std::vector<std::string>;

inline Calls calls;
inline int answer = LAPI_SUCCESS;

template <class... Arguments>
std::string call(const char* name, Arguments... arguments) {
  std::ostringstream text;
  text << name;
  ((text << ' ' << arguments), ...);
  return text.str();
}

template <class... Arguments>
int note(const char* name, Arguments... arguments) {
  calls.push_back(call(name, arguments...));
  return answer;
}

// What was called since the last time.
inline Calls made() { return std::exchange(calls, {}); }

}  // namespace lapi_hpp
