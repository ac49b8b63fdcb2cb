// Reads the output of a node's tasks and passes it on in whole lines, never more than a window ahead of whoever reads
// it. Each of the two streams has its own: whoever reads one of them does not wait for whoever reads the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string_view>

#include "control/base/poll_set.h"
#include "control/job/messages/job_message.h"
#include "control/job/node/line_assembler.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::jobs {

class TaskOutputReader {
 public:
  using Emit = std::function<void(TaskOutput)>;

  explicit TaskOutputReader(Emit emit) : emit_(std::move(emit)) {}

  // Reading ends of a task's pipes, non-blocking.
  void add_task(std::uint32_t task, FileDescriptor output, FileDescriptor errors);
  void watch(PollSet& poll_set);

  // So many bytes of the stream have reached their reader: as many more may be sent.
  void taken(std::uint32_t bytes, bool errors) {
    under_way_[errors] -= std::min<std::size_t>(bytes, under_way_[errors]);
  }
  // Nobody reads this stream any more: the tasks get SIGPIPE.
  void close(bool errors) { closed_[errors] = true; }
  void give_up_reading();

  bool read_all() const { return sources_.empty(); }
  bool must_wait(bool errors) const { return under_way_[errors] >= kOutputWindow; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Source {
    std::uint32_t task;
    bool is_errors;
    FileDescriptor pipe;
    LineAssembler lines;
  };
  void read_source(std::list<Source>::iterator source);
  void pass_on(Source& source, std::string_view bytes, bool is_end);

  Emit emit_;
  std::list<Source> sources_{};
  std::size_t under_way_[2] = {0, 0};  // output, errors
  bool closed_[2] = {false, false};
  std::uint64_t bytes_read_ = 0;
};

}  // namespace openlapi::jobs
