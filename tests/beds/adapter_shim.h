// What real adapters say of themselves, and refuse, put between this program and its soft-RoCE device. In a program
// that is linked with adapter_shim.cc libibverbs's functions are taken over by name, and the operations of each context
// are replaced when it is opened. README.md has a table of the switches: which provider is so, and where that was read.
// verbs_provider.h has what providers do with completions; the two are not for one program.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace openlapi::test {

struct AdapterShim {
  // Ports are InfiniBand's. rxe0 has LID 1, rxe1 LID 2 and so on; what is sent to a LID without a route header goes to
  // that device.
  bool infiniband = false;
  // Of the port (IBV_QPF_GRH_REQUIRED); address handles without a route header are then refused.
  bool route_header_required = false;
  // Of each port, by index. Empty: the device's own. Packets go in the device's own all the same.
  std::vector<std::uint16_t> partitions;
  // Changes the table that the device has.
  std::function<void(std::vector<ibv_gid_entry>&)> gids;
  std::uint32_t most_inline = UINT32_MAX;  // bytes; a queue pair that wants more is refused
  bool silent = false;                     // such a refusal leaves errno as it was
  int most_pieces = INT32_MAX;             // max_sge
  int most_reads = INT32_MAX;              // max_qp_rd_atom, max_qp_init_rd_atom
  int most_queue_pairs = INT32_MAX;        // max_qp
  std::size_t most_registered = SIZE_MAX;  // bytes of a piece of memory; more is refused (ENOMEM)
  bool no_shared_queues = false;           // shared receive queues are refused, though the device says that it has some
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  bool hardware = false;                 // the device is a piece of hardware
  bool thread_domains = false;           // there are some
  bool parent_domains = true;            // that hold them
  bool queues_in_parent_domains = true;  // completion queues are made there, too
  std::uint64_t on_demand_paging = 0;    // general_caps; 0: the device's own
  bool paging_refused = false;           // the region of all memory, though the device says that it has it
  // Makes an address handle wait before the device makes it, or null.
  std::function<void()> before_handle;
};

// The one in force; set it before the device is opened.
extern AdapterShim adapter_shim;

// What the program has asked of the device since forget_requests().
struct AdapterRequests {
  std::vector<ibv_ah_attr> handles;         // address handles that were made
  std::vector<ibv_ah_attr> routes;          // of reliable connections
  std::vector<std::uint16_t> partitions;    // indices that queue pairs were given
  std::vector<std::uint32_t> inline_bytes;  // that queue pairs were made with, or refused
  std::vector<int> rights;                  // of memory that was registered
  int resets = 0;                           // of queue pairs
  std::vector<std::uint32_t> reads;         // bytes of each RDMA READ that was posted
  int paged = 0;                            // ends of these that were in regions of all memory
};
AdapterRequests requests_of_adapter();

// What belongs to thread domains, and what does not.
struct DomainCounts {
  struct Objects {
    int queue_pairs = 0;
    int completion_queues = 0;
    int shared_queues = 0;
  };
  Objects inside, outside;  // made since forget_requests()
  int thread_domains = 0;   // that exist now
};
DomainCounts domain_counts();

void forget_requests();

// Each open context is told of the event, of port 1, when it is asked next.
void tell_adapters(ibv_event_type type);

}  // namespace openlapi::test
