// Passes the tasks' output on to lapirun's own, whole lines at a time.
//
// Nothing is ever lost to a slow reader: when too much waits to be written, the tasks' pipes are not read until it is
// gone, and the tasks block as they would on the reader itself. When the reader is gone for good, the pipes are closed,
// and the tasks see what a program sees whose reader left (SIGPIPE). What cannot be written for another reason (a full
// disk, a limit) is lost: the job has to end, see note_lost().
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include "control/base/file_descriptor.h"
#include "control/base/poll_set.h"
#include "control/job/node/line_assembler.h"

namespace openlapi {

class OutputForwarder {
 public:
  // Writes to descriptors that it does not own (1 and 2).
  OutputForwarder(int output, int errors, bool tag);

  // Reading ends of a task's pipes, non-blocking.
  void add_task(std::uint32_t task, FileDescriptor output, FileDescriptor errors);

  // Whole lines or pieces of a task whose pipes another process reads.
  void take(std::uint32_t task, bool errors, std::string_view text);
  bool reader_gone(bool errors) const { return errors ? errors_.reader_gone : output_.reader_gone; }

  // True, once for each of the two streams: what tasks wrote could not be written. A note says why, with `before` and
  // `after` around it.
  bool note_lost(std::string_view before, std::string_view after);

  // A message of lapirun's own, on stderr and in order with what the tasks write there; the newline is added.
  void note(std::string_view text);

  void watch(PollSet& poll_set);

  // All pipes are at their end (or given up).
  bool read_all() const { return output_.sources.empty() && errors_.sources.empty(); }
  // Nothing waits to be written.
  bool written_all() const { return output_.waiting.empty() && errors_.waiting.empty(); }
  // Stops reading: what still holds a pipe open is no task.
  void give_up_reading();

  // Bytes taken from tasks so far: tells whether more keeps coming.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Source {
    std::uint32_t task;
    FileDescriptor pipe;
    LineAssembler lines;
  };
  struct Stream {
    int fd;
    LineMerger merger;
    std::string waiting{};
    std::size_t written = 0;  // of `waiting`, from its start
    std::list<Source> sources{};
    bool reader_gone = false;
    int error = 0;  // of writing, and not yet told
  };

  void watch_stream(Stream& stream, PollSet& poll_set);
  void read_source(Stream& stream, std::list<Source>::iterator source);
  void finish_source(Stream& stream, Source& source);
  static void write_waiting(Stream& stream);
  static bool write_piece(Stream& stream);

  Stream output_;
  Stream errors_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace openlapi
