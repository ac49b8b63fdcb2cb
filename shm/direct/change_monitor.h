// Takes out of the table what the program unmaps or moves. The kernel keeps the thread that does so waiting until its
// event has been read; the gate is shut before that, so that what the thread does next finds no accessor that begins,
// and whoever has the memory registered waits until it is told (AdapterMemory).
#pragma once

#include <string>

#include "dataplane/base/adapter_memory.h"
#include "shm/direct/address_table.h"
#include "shm/direct/direct_file.h"
#include "shm/direct/gate.h"
#include "shm/direct/private_thread.h"
#include "shm/direct/userfault.h"

struct uffd_msg;

namespace openlapi::direct {

class ChangeMonitor {
 public:
  // All outlive it.
  ChangeMonitor(const DirectFile& file, AddressTable& table, Gate& gate) : file_(file), table_(table), gate_(gate) {}

  // False: `reason` says why.
  bool start(const AddressRange& stack, std::string& reason);
  // Before it, nothing is watched any more.
  void stop();

  const Userfault& events() const { return events_; }
  // For a child of a fork, which has no thread: closes the descriptors.
  void close();

 private:
  void run();
  void read_events();
  void take(const uffd_msg& event, AdapterMemory::Change& change);

  const DirectFile& file_;
  AddressTable& table_;
  Gate& gate_;
  AdapterMemory& adapters_ = AdapterMemory::of_process();
  Userfault events_;
  FileDescriptor stop_;
  PrivateThread thread_;
};

}  // namespace openlapi::direct
