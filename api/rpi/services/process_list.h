// The processes that this one knows, itself included (rpi SSI specification, 3.3.2, 3.4, 3.5.1).
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/rpi/include/lam-ssi-rpi.h"

namespace openlapi::rpi {

// In the order in which they were added. Not thread safe.
class ProcessList {
 public:
  // The process at this place: new, with all else 0, unless it is known. Throws std::bad_alloc.
  _proc& add(const _gps& gps);
  // nullptr: it is not known.
  _proc* find(const _gps& gps) const;
  // Frees the process; whoever was told of it by next() is told of those behind it next. False: it is not in the list.
  bool remove(const _proc* process);

  // first(), then next() until it is nullptr.
  _proc* first();
  _proc* next();

  // All of them; the array lies elsewhere after add() and remove().
  std::vector<_proc*>& processes() { return processes_; }

 private:
  struct Hash {
    std::size_t operator()(const _gps& gps) const;
  };
  struct Equal {
    bool operator()(const _gps& left, const _gps& right) const;
  };

  std::unordered_map<_gps, std::unique_ptr<_proc>, Hash, Equal> by_place_{};
  std::vector<_proc*> processes_{};
  std::size_t next_ = 0;
};

// Less than, equal to, greater than zero: by node, index, number of process, rank.
int compare(const _gps& left, const _gps& right);

// ---- The list of this process, which lam_procadd and the others work on ----
// What lam_procfree calls: the selected module's function (nullptr: nothing).
void finalize_processes_with(lam_ssi_rpi_finalize_fn_t finalize);
// Counts the processes of a group that is new, or of one that ends. Those of other worlds (LAM_PCLIENT) that no group
// has any more are finalised by the module and leave the list; ours stay until lam_nukeprocs.
void add_references(const _group& group);
void drop_references(const _group& group);

}  // namespace openlapi::rpi
