// A task that no launcher started, as far as the bootstrap goes: gets its windows, gives a number of addresses, and
// prints what it was given, one "name value" a line.
//
//   control_window_probe WINDOW,ADAPTER[:WINDOW,ADAPTER...] [exchanges]
//
// MP_PARTITION, MP_CHILD, MP_PROCS as usual. Ends when its standard input does.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "control/client/bootstrap.h"

using namespace openlapi;

namespace {

WindowRequest request_of(const char* key, const std::string& words) {
  WindowRequest request{key, {}};
  std::istringstream pairs(words);
  for (std::string pair; std::getline(pairs, pair, ':');) {
    const auto comma = pair.find(',');
    request.windows.emplace_back(static_cast<std::uint32_t>(std::stoul(pair)), pair.substr(comma + 1));
  }
  return request;
}

int fail(const char* what, const std::string& why) {
  std::printf("%s %s\n", what, why.c_str());
  return 1;
}

bool exchange(Bootstrap& bootstrap, int round, std::string& error) {
  const std::string key = "key" + std::to_string(round);
  const std::string own = std::to_string(bootstrap.task()) + "/" + std::to_string(getpid());
  if (!bootstrap.put(key, std::as_bytes(std::span(own)), error) || !bootstrap.exchange(error)) return false;
  for (std::uint32_t task = 0; task < bootstrap.size(); ++task) {
    std::vector<std::byte> value;
    if (!bootstrap.get(task, key, 0, value, error)) return false;
    std::printf("%s %.*s\n", key.c_str(), static_cast<int>(value.size()), reinterpret_cast<const char*>(value.data()));
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string error;
  bool missing = false;
  const auto variable = [](const char* name) { return std::getenv(name); };
  const auto standalone = open_standalone_bootstrap(variable, std::nullopt, error, missing);
  if (standalone == nullptr) return fail("environment", error);
  std::vector<std::string> devices;
  WindowFailure failure;
  const auto bootstrap =
      open_window_bootstrap(standalone, request_of(std::getenv("MP_PARTITION"), words[1]), devices, failure);
  if (bootstrap == nullptr) return fail(failure.no_daemon ? "no_daemon" : "refused", failure.text);
  std::printf("cookie %llx\n", static_cast<unsigned long long>(bootstrap->job_cookie()));
  for (const std::string& device : devices) std::printf("device %s\n", device.c_str());
  for (const std::uint32_t task : bootstrap->local_tasks()) std::printf("local %u\n", task);
  const int rounds = count > 2 ? std::atoi(words[2]) : 0;
  for (int round = 1; round <= rounds; ++round) {
    if (!exchange(*bootstrap, round, error)) return fail("exchange", error);
  }
  std::printf("ready 1\n");
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
