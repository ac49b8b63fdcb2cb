// The processes that a boot has started in the background of this machine, which end if the boot fails. Daemons that
// have a folder are ended by tkill. A helper of the tree algorithm that is stopped, and a daemon below it that has no
// folder yet, can only be found as children of this process, which they become when the process that has started them
// ends. Only the boot's own programs are ended: what an agent leaves in the background, as ssh does for the connections
// that it keeps, is the user's.
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
