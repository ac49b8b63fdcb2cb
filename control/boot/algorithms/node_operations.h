// What boot algorithms do to nodes: the callbacks of the selected module, or a test's.
#pragma once

#include <vector>

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

// The lnd_bootport that receive gives a node whose daemon has ended instead of reporting.
inline constexpr int kDaemonEnded = -1;

// Whoever fails has said why before it returns false. start and receive may be called at the same time by the thread
// algorithm, start several times at the same time with different nodes; nothing else overlaps.
class NodeOperations {
 public:
  virtual ~NodeOperations() = default;

  // Starts a process on the node. Blocks until the agent that does it has returned.
  virtual bool start(lamnode& node, lam_ssi_boot_proc_t which) = 0;

  // Listens for the daemons of these nodes; until close_server.
  virtual bool open_server(lamnode* nodes, int count) = 0;
  // Waits until one daemon has reported and fills in its node, or has ended; false: none came within the time for that.
  virtual bool receive(lamnode* nodes, int count) = 0;
  virtual bool close_server() = 0;
  // Tells the daemon of node `which` all nodes.
  virtual bool send_universe(lamnode* nodes, int count, int which) = 0;
};

}  // namespace openlapi::boot
