// lapi_info: what this library is, what it can use on this machine and why not the rest.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/info/job.h"
#include "api/info/report.h"
#include "api/wiring/unknown_variables.h"
#include "api/wiring/version.h"
#include "control/base/option_given_twice.h"

namespace openlapi::info {
namespace {

bool all_valid(const std::vector<SettingReport>& settings) {
  for (const SettingReport& setting : settings) {
    if (!setting.valid) return false;
  }
  return true;
}

void name_unknown_variables() {
  std::fflush(stdout);
  for (const std::string& line : unknown_variables(environ)) std::fprintf(stderr, "lapi_info: %s\n", line.c_str());
}

int run(int argc, char** argv) {
  CLI::App app("Shows what openlapi can use on this machine, and why not the rest.", "lapi_info");
  bool environment = false, job = false, json = false, version = false;
  CLI::Option* const env = app.add_flag(
      "-e,--env", environment,
      "every environment variable: meaning, allowed values, default, present value; status 1 when one is wrong");
  app.add_flag("--job", job, "as a task of a job: how its tasks reach each other; status 1 when some cannot")
      ->excludes(env);
  app.add_flag("-j,--json", json, "the same as JSON");
  app.add_flag("--version", version, "print the version and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& wrong) {
    std::fprintf(stderr, "lapi_info: %s\nSee lapi_info --help\n", told_once(wrong.what()).c_str());
    return 2;
  }
  if (version) {
    std::printf("%s\n", version_text());
    return 0;
  }
  if (environment) {
    const auto settings = report_settings([](const char* name) -> const char* { return std::getenv(name); });
    std::fputs((json ? to_json(nullptr, &settings) : describe(settings)).c_str(), stdout);
    name_unknown_variables();
    return all_valid(settings) ? 0 : 1;
  }
  if (job) return show_job(json);
  const Report report = make_report();
  std::fputs((json ? to_json(&report, nullptr) : describe(report)).c_str(), stdout);
  name_unknown_variables();
  return 0;
}

// `status`, unless what was printed could not be written.
int end(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("lapi_info: cannot write");
  return 1;
}

}  // namespace
}  // namespace openlapi::info

int main(int argc, char** argv) { return openlapi::info::end(openlapi::info::run(argc, argv)); }
