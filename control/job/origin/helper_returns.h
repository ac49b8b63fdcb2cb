// Where helpers come to lapirun itself when a daemon on their way is lost: a listening socket whose address and key
// they got with the job. The connections of strangers are kept few.
#pragma once

#include <cstdint>
#include <functional>
#include <list>

#include "control/base/deadline.h"
#include "control/base/poll_set.h"
#include "control/daemon/messages/connection.h"
#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

class HelperReturns {
 public:
  using Came = std::function<void(const Return& who, daemon::Connection connection)>;

  // False: nobody can come.
  bool open(std::uint32_t address);
  // What helpers need to know.
  ReturnAddress address() const { return address_; }

  // `came` hears of each that has proved that it knows the key. What is over, or has said nothing for too long, goes
  // first: no round of the loop waits for it.
  void watch(PollSet& poll_set, const Came& came);
  Deadline deadline() const;

 private:
  struct Arrival {
    daemon::Connection connection;
    std::uint32_t from = 0;  // the address
    Deadline until{};
    bool over = false;
  };

  void drop_late();
  void accept_some();
  bool make_place(std::uint32_t newcomer, std::size_t places);
  void serve(Arrival& arrival, const Came& came);

  FileDescriptor listener_{};
  ReturnAddress address_{};
  std::size_t places_ = 0;
  Deadline accept_again_{};  // after a shortage of descriptors
  std::list<Arrival> arrivals_{};
};

}  // namespace openlapi::jobs
