// Arbitrary bytes to the decoder of what a node tells of its networks: it names no tasks that the job does not have,
// and what it accepts can be told again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/wiring/network_agreement.h"
#include "dataplane/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kTasks = 1000;
  openlapi::NodeNetworks node, again;
  if (!decode(std::span(reinterpret_cast<const std::byte*>(data), size), kTasks, node)) return 0;
  OPENLAPI_CHECK(!node.tasks.empty());
  std::sort(node.tasks.begin(), node.tasks.end());
  node.tasks.erase(std::unique(node.tasks.begin(), node.tasks.end()), node.tasks.end());
  OPENLAPI_CHECK(node.tasks.back() < kTasks);
  OPENLAPI_CHECK(decode(encode(node), kTasks, again));
  OPENLAPI_CHECK(again.networks.size() == node.networks.size() && again.tasks.front() == node.tasks.front());
  return 0;
}
