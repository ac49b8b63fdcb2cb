// Arbitrary bytes to the messages of the network availability matrix: what a daemon believes of them is bounded, known
// from then on, and can be printed.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "control/daemon/adapters/adapter_table.h"
#include "control/daemon/messages/daemon_message.h"
#include "control/tools/matrix_text.h"
#include "dataplane/base/check.h"

using namespace openlapi::daemon;

namespace {

std::vector<UniverseNode> nodes() {
  std::vector<UniverseNode> nodes(4);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  nodes[3].state = NodeState::kLost;
  nodes[2].stamp = 2;
  return nodes;
}

void apply(const AdaptersMessage& message) {
  const UniverseTable universe(nodes(), 0, 0);
  AdapterTable table(universe, [] { return std::uint64_t{1}; });
  for (const NodeAdapters& row : message.rows) {
    if (table.apply(row)) OPENLAPI_CHECK(!table.apply(row) && table.rows().at(row.node) == row);
  }
  OPENLAPI_CHECK(table.rows().size() <= 2 && !table.rows().contains(0) && !table.rows().contains(3));
  OPENLAPI_CHECK(table.changes().size() <= kMostChanges);
  for (const auto& [node, row] : table.rows()) OPENLAPI_CHECK(row.adapters.size() <= kMostAdapters);
}

void print(const MatrixMessage& message) {
  const Matrix matrix{message.version, {0, nodes(), {0, 0, 0, 0}}, message.rows, message.changes};
  OPENLAPI_CHECK(nlohmann::json::parse(json_of(matrix)).is_object());
  std::string lines = json_history_of(matrix, 0);
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
    OPENLAPI_CHECK(nlohmann::json::parse(lines.substr(0, end)).is_object());
    lines.erase(0, end + 1);
  }
  for (const std::string& text : {table_of(matrix), history_of(matrix, 0)}) {
    for (const unsigned char letter : text) OPENLAPI_CHECK(letter == '\n' || (letter >= 0x20 && letter < 0x7f));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = decode(std::span(data, size));
  if (!message) return 0;
  if (const auto* adapters = std::get_if<AdaptersMessage>(&*message)) apply(*adapters);
  if (const auto* matrix = std::get_if<MatrixMessage>(&*message)) print(*matrix);
  return 0;
}
