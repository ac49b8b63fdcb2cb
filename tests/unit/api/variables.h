// An environment that a test writes down.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/wiring/environment.h"

namespace openlapi {

using Variables = std::map<std::string, std::string>;

inline ReadEnvironment reader(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

inline SettingReport report_of(const std::string& name, const Variables& variables = {}) {
  const auto report = report_settings(reader(variables));
  const auto row = std::ranges::find(report, name, &SettingReport::name);
  EXPECT_NE(row, report.end()) << name;
  return row == report.end() ? SettingReport{} : *row;
}

}  // namespace openlapi
