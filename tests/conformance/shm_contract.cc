#include "shm/shm_transport.h"
#include "tests/conformance/traced.h"
#include "tests/conformance/transport_contract.h"

namespace openlapi::test {
namespace {

std::unique_ptr<Transport> open_shm(const OpenRequest& request, std::string& error) {
  const ShmConfig config{.cookie = request.cookie, .self = request.self, .local_tasks = request.tasks};
  ShmSetupError failure;
  std::unique_ptr<Transport> transport = open_shm_transport(config, failure);
  error = failure.reason;
  return transport;
}

INSTANTIATE_TEST_SUITE_P(Shm, TransportContract,
                         testing::Values(TransportKind{.name = "shm", .open = open_shm, .tells_death = true},
                                         TransportKind{
                                             .name = "shm_traced", .open = open_traced<open_shm>, .tells_death = true}),
                         kind_name);

}  // namespace
}  // namespace openlapi::test
