// lapirun's options. They end at the first word that is none: the program; what follows belongs to it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "control/job/options/job_options.h"

namespace openlapi {

// Nothing to run: print `text` (to stdout when `status` is 0, else to stderr) and exit.
struct CommandLineEnd {
  int status = 0;
  std::string text{};
};

// `arguments` without the name of the launcher itself.
std::variant<JobOptions, CommandLineEnd> parse_command_line(const std::vector<std::string>& arguments,
                                                            const std::string& version,
                                                            Launcher launcher = Launcher::kLapirun);

}  // namespace openlapi
