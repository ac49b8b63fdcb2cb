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

#endif
