// What nearly every unit test includes; compiled once for all of them (tests/unit/meson.build). Tests include what they
// use nevertheless: this is only faster. (A guard of its own: g++ takes `#pragma once` here for a mistake.)
#ifndef OPENLAPI_UNIT_TESTS_H
#define OPENLAPI_UNIT_TESTS_H

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

// In C++20 every object gets its own members of std::string, a fifth of the code of tests that are not optimised: here
// they come from string_members.cc.
#if defined(__GLIBCXX__) && !defined(__OPTIMIZE__)
extern template class std::basic_string<char>;
#endif

#endif
