// What a boot has started on this machine and that is in the background: where the boot fails it ends with it. Daemons
// that have a folder are ended by tkill; a helper of the tree algorithm that is stopped, and a daemon below it that has
// no folder yet, are found by nothing but being this process's children, which they become when who has started them
// ends. Only the boot's own programs end: what an agent leaves in the background, as ssh does for the connections that
// it keeps, is the user's.
#pragma once

#include <sys/types.h>

#include <set>

namespace openlapi::daemon {

class BootDescendants {
 public:
  // From now on. Children that are there already are not ours.
  BootDescendants();
  // Ends them, unless they are to stay.
  ~BootDescendants();
  BootDescendants(const BootDescendants&) = delete;
  BootDescendants& operator=(const BootDescendants&) = delete;

  void let_stay() { stay_ = true; }

 private:
  bool end_children() const;

  std::set<pid_t> others_{};
  bool stay_ = false;
};

}  // namespace openlapi::daemon
