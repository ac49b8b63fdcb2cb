// Writes the tasks' output on lapirun's own, whole lines at a time.
//
// Nothing is ever lost to a slow reader: nodes are told only of what has been written, and do not read their tasks'
// pipes too far ahead (task_output.h), so the tasks block as they would on the reader itself. When the reader is gone
// for good, the nodes close the pipes, and the tasks see what a program sees whose reader left (SIGPIPE). What cannot
// be written for another reason (a full disk, a limit) is lost: the job has to end, see note_lost().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/base/poll_set.h"
#include "control/job/node/line_assembler.h"

namespace openlapi {

class OutputForwarder {
 public:
  // Writes to descriptors that it does not own (1 and 2).
  OutputForwarder(int output, int errors, bool tag);

  // Of a task: whole lines, or a piece of one; not empty.
  void take(std::uint32_t task, bool errors, std::string_view text);
  bool reader_gone(bool errors) const { return errors ? errors_.reader_gone : output_.reader_gone; }

  // True, once for each of the two streams: what tasks wrote could not be written. A note says why, with `before` and
  // `after` around it.
  bool note_lost(std::string_view before, std::string_view after);

  // A message of lapirun's own, on stderr and in order with what the tasks write there; the newline is added.
  void note(std::string_view text);

  void watch(PollSet& poll_set);

  // Nothing waits to be written, to one of the streams or to both.
  bool written_all(bool errors) const { return (errors ? errors_ : output_).waiting.empty(); }
  bool written_all() const { return output_.waiting.empty() && errors_.waiting.empty(); }

 private:
  struct Stream {
    int fd;
    LineMerger merger;
    std::string waiting{};
    std::size_t written = 0;  // of `waiting`, from its start
    bool reader_gone = false;
    int error = 0;  // of writing, and not yet told
  };

  static void write_waiting(Stream& stream);
  static bool write_piece(Stream& stream);

  Stream output_;
  Stream errors_;
};

}  // namespace openlapi
