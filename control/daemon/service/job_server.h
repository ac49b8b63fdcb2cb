// The processes at both ends of jobs: lapiruns, over the connections by which they came as tools, and the helpers of
// this node (lamtasks), which this daemon starts, one for a job, each with a socket as its standard input. A helper
// ends when its socket does, also when this daemon is killed; unless the user wants its tasks to go on then and it was
// not told that the job is over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "control/base/poll_set.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/job_delivery.h"
#include "control/daemon/service/peer_links.h"

namespace openlapi::daemon {

class JobServer final : private JobPlaces {
 public:
  // `session`: the path of this daemon's folder.
  JobServer(const UniverseTable& table, PeerLinks& links, std::string session)
      : table_(table), links_(links), session_(std::move(session)), delivery_(table, *this) {}

  // A tool that has sent a job's message is a lapirun from now on.
  void add_lapirun(Connection connection, const JobMessage& first);
  void from_neighbour(const JobMessage& message) { delivery_.from_neighbour(message); }
  void node_lost(std::uint32_t node) { delivery_.node_lost(node); }
  // This daemon ends in order, and with it all jobs of lapiruns here and all tasks here; other nodes are told that.
  void end_helpers();
  // Ends all jobs that have their lapirun or tasks here; what does not end is killed, as at the end of any job.
  void end_jobs();
  // Processes of such jobs are still running.
  bool is_ending() const;
  std::optional<Time> deadline() const;

  // The jobs that have their lapirun or tasks here.
  JobsMessage jobs() const;

  void watch(PollSet& poll_set);
  // Tells what has ended, and sends messages that waited and can go now.
  void tick();

 private:
  struct Lapirun {
    JobId job{};
    Connection connection;
    pid_t process = 0;
    bool over = false;
  };
  struct Helper {
    JobId job{};
    Connection connection;
    pid_t process = 0;
    FileDescriptor process_fd{};
    bool over = false;
    bool is_to_end = false;         // by end_jobs
    bool ended = false;             // the process
    std::optional<Time> kill_at{};  // one that was told to end, and hangs or is stopped
  };

  bool is_linked(std::uint32_t neighbour) const override { return links_.is_linked(neighbour); }
  void send(std::uint32_t neighbour, const JobMessage& message) override { links_.send(neighbour, message); }
  void start_helper(const JobId& job, const MessageBytes& body) override;
  void tell_helper(const JobId& job, const JobMessage& message) override;
  void end_helper(const JobId& job) override;
  void leave_helper(const JobId& job) override;
  void tell_lapirun(const JobId& job, const JobMessage& message) override;

  void end_lapiruns(const std::string& why);
  void tell_strays_to_end();
  void serve_lapirun(Lapirun& lapirun);
  void serve_helper(Helper& helper);
  bool take(Helper& helper);

  const UniverseTable& table_;
  PeerLinks& links_;
  const std::string session_;
  JobDelivery delivery_;
  std::list<Lapirun> lapiruns_{};
  std::list<Helper> helpers_{};
};

}  // namespace openlapi::daemon
