// How lapirun reaches the nodes of its job. They are named by their place in the job's list of nodes. Nothing here
// blocks.
#pragma once

#include <cstddef>
#include <string>

#include "control/base/deadline.h"
#include "control/base/poll_set.h"
#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

class NodeLink {
 public:
  // Who hears of the nodes; may be called from within all functions below that are not const.
  class Listener {
   public:
    virtual void take(std::size_t node, JobBody body) = 0;
    // The node's tasks go on by themselves; nothing more comes from there.
    virtual void take_cut_off(std::size_t node) = 0;
    // The job cannot go on in order. `why` empty: the user was told.
    virtual void break_off(int status, const std::string& why) = 0;
    // A line for the user.
    virtual void note(const std::string& text) = 0;
    virtual void report_phase(const char* what) = 0;

   protected:
    ~Listener() = default;
  };

  virtual ~NodeLink() = default;

  // All nodes start their tasks, and answer TasksStarted or TasksRefused. False: `error` says why the job cannot even
  // be sent. `listener` lives as long as this.
  virtual bool start(StartTasks job, Listener& listener, std::string& error) = 0;
  // A signal for all tasks; whoever handles it lives on.
  virtual void signal(int signal) = 0;
  // SIGTERM for all tasks, and SIGKILL for those that do not follow.
  virtual void end_tasks() = 0;
  // Any other message, to one node or all. A node that has gone hears nothing.
  virtual void tell(std::size_t node, const JobBody& body) = 0;
  virtual void tell_all(const JobBody& body) = 0;
  // Removes all of the job from the nodes. `in_order`: all have finished.
  virtual void leave(bool in_order) = 0;
  virtual bool has_left() const = 0;

  // "n1 (host)"; empty: there is but one place.
  virtual std::string name_of(std::size_t node) const = 0;
  // Nothing more comes from there.
  virtual bool has_gone(std::size_t node) const = 0;
  // Task 0 reads what it is told by TaskInput; else it has lapirun's own standard input.
  virtual bool carries_input() const = 0;

  virtual void watch(PollSet& poll_set) = 0;
  virtual Deadline deadline() const = 0;
  // After each round of the loop: deals with what is due.
  virtual void check() = 0;
};

}  // namespace openlapi::jobs
