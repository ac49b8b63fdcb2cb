#include "api/wiring/windows.h"

#include <string>
#include <vector>

namespace openlapi {
namespace {

struct Lease {
  WindowRequest request{};
  std::vector<std::string> devices{};
  std::shared_ptr<Bootstrap> bootstrap{};
};

Lease& lease() {
  static Lease* lease = new Lease;  // never destroyed, as the contexts
  return *lease;
}

WindowRequest request_of(const Settings& settings) {
  WindowRequest request{settings.partition, {}};
  for (const NetworkInstance& instance : settings.network_windows) {
    request.windows.emplace_back(static_cast<std::uint32_t>(std::stoul(instance.address)), instance.adapter);
  }
  return request;
}

// "no lamd" is no network to load, its refusal a statement that cannot be used.
bool fail_with(const WindowFailure& refused, OpenFailure& failure) {
  if (!refused.no_daemon) return fail(failure, FailureKind::network_statement, refused.text);
  return fail(failure, FailureKind::transport,
              "MP_EUILIB=us without a launcher: the network table of the job cannot be asked for: " + refused.text +
                  ", lapi_ntbl loads the table; or start the tasks with lapirun");
}

}  // namespace

bool lease_windows(Settings& settings, std::shared_ptr<Bootstrap>& bootstrap, OpenFailure& failure) {
  const WindowRequest request = request_of(settings);
  if (lease().bootstrap == nullptr || lease().request != request) {
    forget_windows();
    WindowFailure refused;
    Lease asked{request, {}, nullptr};
    asked.bootstrap = open_window_bootstrap(bootstrap, request, asked.devices, refused);
    if (asked.bootstrap == nullptr) return fail_with(refused, failure);
    lease() = std::move(asked);
  }
  bootstrap = lease().bootstrap;
  for (std::size_t n = 0; n < lease().devices.size(); ++n) {
    const std::string& device = lease().devices[n];
    if (!device.empty()) settings.network_windows[n].adapter = device;
  }
  return true;
}

void forget_windows() { lease() = {}; }

}  // namespace openlapi
