// The memory of this process that its neighbours reach directly: promoted on demand, followed when the program unmaps
// or moves it, taken back before a fork and at the end. One for a process; it lies in memory that is never promoted.
//
// It has two threads, which take no signals. One reads the events of promoted memory; the thread that has unmapped or
// moved some waits for it. The other one promotes, so that a promoting thread's stack is never under promotion.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "dataplane/base/adapter_memory.h"
#include "shm/direct/change_monitor.h"
#include "shm/direct/control_memory.h"
#include "shm/direct/heap/preloaded_heap.h"
#include "shm/direct/promotion.h"

namespace openlapi::direct {

class OpenMemory final : private AdapterMemory::Follower {
 public:
  struct Stop {
    void operator()(OpenMemory* memory) const;
  };
  using Pointer = std::unique_ptr<OpenMemory, Stop>;

  struct Plan {
    std::uint32_t accessors;              // there is room for so many
    bool promotes = true;                 // else only static data are opened, and the heap
    const PreloadedHeap* heap = nullptr;  // opened from the beginning, if it is shared
  };
  // The gate is open. Null: `reason` says why there is none.
  static Pointer start(const Plan& plan, std::string& reason);
  static Pointer start(std::uint32_t accessors, std::string& reason) { return start({.accessors = accessors}, reason); }

  // What neighbours need. The file is another one after each fork (ControlHeader::file).
  const ControlMemory& control() const { return control_; }
  int file_descriptor() const { return file_.descriptor(); }
  // Before the accessor comes in for the first time (Gate::admit()).
  void admit(std::uint32_t accessor, pid_t process) { gate_.admit(accessor, process); }

  // After a change of what accessors have to heed when they come in: none of those is inside who came before it, but
  // for those that do not go on (Gate::kPatience).
  void wait_for_accessors() {
    static_cast<void>(gate_.try_close());
    gate_.open();
  }

  // The same for one accessor, who is no longer wanted. If it does not go on, all memory is moved out of the file: what
  // it still does comes to nothing. All others are waited for then, however long: nothing of theirs is lost.
  void end_visits(std::uint32_t accessor);

  // Whether memory can be promoted beside running threads. If not, only while the caller is the only one.
  bool promotes_anytime() const { return promoter_.stops_system_calls(); }
  // Whether it is in the table. It is not after a fork.
  bool has_heap() const { return control_.header().heap_size.load() != 0; }

  // Whether it is promoted. After a fork, and wherever memory is moved out of the file, nothing is.
  bool is_open(std::uint64_t address);

  // Opens the chunk of memory around the address; returns when that is done or refused. The caller takes no signals
  // meanwhile.
  Refusal promote(std::uint64_t address);

  // Static data, while the caller is the only thread that writes there. The first refusal; the others are open.
  Refusal promote_data_segments();

 private:
  OpenMemory(const AddressRange& own, const Plan& plan, ControlMemory control, DirectFile file);
  ~OpenMemory();
  static DirectFile make_file(const Plan& plan, std::string& reason);
  static bool make(const Plan& plan, std::string& reason);
  static void end();
  bool start_threads(std::string& reason);
  void run_promotions();
  void open_heap();
  bool follows(std::uint64_t begin, std::uint64_t end) override;
  bool settled() override { return monitor_.events().settled(); }
  enum class Bytes : std::uint8_t { kOfFile, kCopied };
  void take_back(Bytes bytes, bool heap_too);
  void make_private(const Mapping& mapping, Bytes bytes);
  void give_up_file(std::uint32_t accessor);
  void begin_new_file();
  void prepare_child();
  void leave_child();

  static void before_fork();
  static void after_fork();
  static void in_child();
  // Held while the one comes or goes, and across a fork: no child finds half of it.
  static std::mutex coming_and_going;
  static OpenMemory* the_one;  // null: none, or this is a child of a fork
  // In the heap's file, which outlives the one.
  static std::uint64_t next_place_beside_heap;

  const AddressRange own_;
  const Plan plan_;
  KeptRanges kept_;
  MappingList mappings_ = MappingList::open();
  ControlMemory control_;
  DirectFile file_;
  Gate gate_;
  AddressTable table_;
  AdapterMemory& adapters_ = AdapterMemory::of_process();
  ChangeMonitor monitor_;
  Promoter promoter_;

  std::mutex promoting_;  // held by whoever promotes, and across a fork
  std::mutex mutex_;      // of what follows
  std::condition_variable changed_;
  std::uint64_t wanted_ = 0;  // the address; 0: none
  Refusal answer_ = Refusal::kNone;
  bool stop_ = false;
  PrivateThread thread_;
};

}  // namespace openlapi::direct
