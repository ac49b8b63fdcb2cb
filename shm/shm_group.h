// A task's membership in its node's group: the shared memory, the socket, who is who, and who is still alive.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

#include "shm/segment.h"
#include "shm/task_socket.h"

namespace openlapi::shm {

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;

class ShmGroup {
 public:
  // Joins the group; blocks until all its tasks have. Null: `error` says why.
  static std::unique_ptr<ShmGroup> join(const ShmConfig& config, ShmSetupError& error);
  ~ShmGroup();
  ShmGroup(const ShmGroup&) = delete;
  ShmGroup& operator=(const ShmGroup&) = delete;

  std::uint32_t self() const { return self_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tasks_.size()); }
  std::span<const PeerIndex> tasks() const { return tasks_; }
  const GroupMemory& memory() const { return memory_; }
  const TaskSocket& socket() const { return socket_; }
  SegmentView segment(std::uint32_t index) const { return memory_.segment(index); }

  // The local index of a task; kNoIndex: it is not in this group.
  std::uint32_t index_of(PeerIndex task) const {
    const std::uint32_t offset = task - tasks_.front();
    return offset < index_of_.size() ? index_of_[offset] : kNoIndex;
  }

  // Whether local task `index` has left the group or its process has ended. Once true it stays true; until then it
  // costs a system call.
  bool gone(std::uint32_t index);
  // Whether it has left the group in order.
  bool closed(std::uint32_t index) const;

 private:
  explicit ShmGroup(const ShmConfig& config);
  bool fill_segment(GroupMemory& memory, ShmSetupError& error);
  bool check_members(ShmSetupError& error);

  std::vector<PeerIndex> tasks_;
  std::vector<std::uint32_t> index_of_;  // by task - tasks_.front()
  std::uint32_t self_ = kNoIndex;
  std::uint64_t proof_ = 0;  // read by the others through process_vm_readv
  std::uint64_t token_ = 0;  // this process's, see SegmentHeader::process_token
  pid_t process_ = 0;        // a child after fork() shares our memory but is not the task
  bool joined_ = false;
  TaskSocket socket_;
  GroupMemory memory_;
  std::vector<bool> gone_;
};

}  // namespace openlapi::shm
