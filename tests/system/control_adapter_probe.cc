// A task that follows the adapters of the universe: it says how many addresses there are and how many are up, whenever
// it is woken, and ends when the daemon does.
// With two addresses it tells the daemon first that nothing comes through between them; with --times it says before
// each line when it knew that.
//
//     control_adapter_probe SESSION-FOLDER [--times | HERE THERE]
#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "control/client/adapter_watch.h"

int main(int count, char** words) {
  std::string error;
  const auto watch = openlapi::AdapterWatch::open(count > 1 ? words[1] : "", error);
  if (!watch) {
    std::printf("none: %s\n", error.c_str());
    return 1;
  }
  if (count == 4) {
    std::array<std::uint8_t, 4> ends[2];
    for (int n = 0; n < 2; ++n) inet_pton(AF_INET, words[2 + n], ends[n].data());
    watch->report(ends[0], ends[1]);
  }
  std::vector<openlapi::AdapterPlace> places;
  std::uint32_t seen = 1, shown = 1;
  while (true) {
    if (watch->changes() != shown && watch->read(places, seen)) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      const auto up = std::ranges::count(places, 1, &openlapi::AdapterPlace::is_up);
      if (count == 3) std::printf("%lld ns: ", static_cast<long long>(std::chrono::nanoseconds(now).count()));
      std::printf("%zu addresses, %td up\n", places.size(), up);
      std::fflush(stdout);
      shown = seen;
    }
    pollfd wait{watch->descriptor(), POLLIN, 0};
    if (poll(&wait, 1, -1) < 0 || !watch->drain()) break;
  }
  std::puts("ended");
  return 0;
}
