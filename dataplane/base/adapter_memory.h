// Which of this process's memory adapters use, for whoever moves memory to other pages (shm/direct/), and what was
// moved, for whoever has registered some (nic/verbs/). A registration pins the pages that are there: when others take
// their place, at the same addresses, the adapter goes on with the old ones. Neither of the two knows the other.
//
// A mapping has one owner of its events (userfaultfd). That of private memory is whoever has registered it (Watcher);
// it hands over what is moved, whose events are read by whoever has moved it (Follower). Both tell what happens in a
// log: here lies that of moves and of moved memory.
//
// An adapter's user says that it uses memory and then looks into the log; a mover begins a round of the log and then
// looks whether the memory is used. So at least one of the two sees the other. Nothing here allocates: the thread that
// reads events of moved memory takes the lock, and whoever allocates may be waiting for that thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "dataplane/base/linked_list.h"
#include "dataplane/base/memory_changes.h"
#include "dataplane/base/signals_off.h"

namespace openlapi {

class AdapterMemory {
 public:
  // How the kernel lists the file that memory is moved to. It stays what is mapped, privately, when that is taken back.
  static constexpr std::string_view kMovedTo = "/memfd:lapi-direct (deleted)";

  // This process's. A child of a fork begins with an empty one, as it has no registrations.
  static AdapterMemory& of_process();
  // In a module, which has this code a second time: the library's is the process's, too. The first call counts.
  static void share(AdapterMemory& of_library);

  // Whole pages that an adapter has pinned.
  class Pinned {
   public:
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    // Once the adapter has them; in use from then on.
    void begin(std::uint64_t begin, std::uint64_t end);
    // Before the adapter lets go of them.
    void end();

    // Whether the adapter may read or write there now. Who uses it looks into the log afterwards.
    void use() { used_.store(true); }
    void rest() { used_.store(false, std::memory_order_release); }

   private:
    friend class AdapterMemory;
    std::uint64_t begin_ = 0, end_ = 0;
    std::atomic<bool> used_{false};
    pid_t process_ = 0;
    ListLinks<Pinned> links_;
  };

  // Who watches registered memory. Called with the lock: it neither allocates nor waits for one who does.
  class Watcher {
   public:
    // Its watch of these pages ends: they are about to be moved.
    virtual void hand_over(std::uint64_t begin, std::uint64_t end) = 0;

   protected:
    ~Watcher() = default;
  };
  // Who reads the events of what was moved. The same.
  class Follower {
   public:
    // Whether all changes of this memory are told from now on, while it is mapped.
    virtual bool follows(std::uint64_t begin, std::uint64_t end) = 0;
    // False: a thread is changing followed memory, or has just done so, and it may not have been told.
    virtual bool settled() = 0;

   protected:
    ~Follower() = default;
  };
  // One at a time: the latest.
  void begin(Watcher& watcher);
  void begin(Follower& follower);
  // It is not called any more when this returns.
  void end(Watcher& watcher);
  void end(Follower& follower);

  // Of the follower. Without one nothing is followed, and all is settled.
  bool follows(std::uint64_t begin, std::uint64_t end);
  bool settled();

  // What was moved, and what has happened to moved memory. Each is gone from where it was registered.
  const MemoryChanges& changes() const { return changes_; }

  // While it exists no memory is moved. The calling thread takes no signals, so that no handler of them forks.
  class Still {
   public:
    explicit Still(AdapterMemory& memory) : lock_(memory.mutex_) {}

   private:
    const SignalsOff off_;
    const std::lock_guard<std::mutex> lock_;
  };

  // Pages are being replaced, or events read that tell of it; one at a time. While it exists, whoever begins to use
  // registered memory waits.
  class Change {
   public:
    explicit Change(AdapterMemory& memory);
    ~Change() { memory_.changes_.finish_round(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    // Whether an adapter uses these pages.
    bool is_used(std::uint64_t begin, std::uint64_t end) const;
    // Whether all pages that adapters have pinned are known here. Any may be one that is not. `pinned`: bytes of the
    // process that are, as the kernel counts them for each registration.
    bool knows_all(std::uint64_t pinned) const { return pinned == memory_.bytes_; }
    // These pages are about to be moved: whoever watches them hands them over.
    void take(std::uint64_t begin, std::uint64_t end);
    // What is registered of them is registered anew when it is used next; what is in use has to be done again.
    void tell(std::uint64_t begin, std::uint64_t end) { memory_.changes_.add(begin, end, true); }

   private:
    AdapterMemory& memory_;
    const Still still_;
  };

 private:
  static void begin_child();
  void forget_parent();

  std::mutex mutex_;  // of all but the log's readers
  MemoryChanges changes_;
  LinkedList<Pinned, &Pinned::links_> pinned_;
  std::uint64_t bytes_ = 0;  // of these, each as often as it is pinned
  Watcher* watcher_ = nullptr;
  std::atomic<Follower*> follower_{nullptr};
};

}  // namespace openlapi
