// What a helper of the tree algorithm and whoever started it tell each other, over tree_link.h.
//
//   helper, to prove itself   node id
//   agent    job              origin's id and host, process, startup protocol, degree, launches at once, nodes
//   helper   reports          for each node what became of it; lines for the user
//   agent    universe         as daemons are told it
//   helper   told             ids of nodes whose daemon took it; lines for the user
//
// Meanwhile the helper gives signs of life.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/boot/interface/topology_origin.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/startup/startup_exchange.h"
#include "control/boot/tree/boot_tree.h"

namespace openlapi::boot {

struct TreeJob {
  TopologyOrigin origin{};
  lam_ssi_boot_proc_t which = LAM_SSI_BOOT_PROC_LAMD;
  bool startup_protocol = false;
  TreeShape shape{};
};
StartupBytes encode_job(const TreeJob& job, const std::vector<const lamnode*>& nodes);

struct TreeJobWithNodes {
  TreeJob job{};
  NodeArray nodes;
};
// These return nothing for bytes that are no such message, or have impossible values.
std::optional<TreeJobWithNodes> decode_job(std::span<const std::uint8_t> bytes);

using ErrorLines = std::vector<std::string>;
StartupBytes encode_reports(const std::vector<NodeReport>& reports, const ErrorLines& lines);
std::optional<std::vector<NodeReport>> decode_reports(std::span<const std::uint8_t> bytes, ErrorLines& lines);

StartupBytes encode_told(const std::vector<int>& ids, const ErrorLines& lines);
std::optional<std::vector<int>> decode_told(std::span<const std::uint8_t> bytes, ErrorLines& lines);

}  // namespace openlapi::boot
