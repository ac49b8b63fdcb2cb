#include "control/job/node/container_numbers.h"

#include <fstream>
#include <sstream>
#include <string>

namespace openlapi {
namespace {

// Of the innermost of several; nothing: it has the number that it has here.
std::optional<std::uint32_t> number_there(const std::filesystem::path& process) {
  std::ifstream file(process / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::uint32_t number = 0;
    int count = 0;
    while (words >> number) ++count;
    return count > 1 ? std::optional(number) : std::nullopt;
  }
  return {};
}

}  // namespace

bool ContainerNumbers::contains(std::uint32_t number) {
  if (!numbers_) {
    numbers_.emplace();
    std::error_code error;
    for (std::filesystem::directory_iterator entry(processes_, error), end; !error && entry != end;
         entry.increment(error)) {
      if (const auto there = number_there(entry->path())) numbers_->insert(*there);
    }
  }
  return numbers_->contains(number);
}

}  // namespace openlapi
