// What two processes of LAM say to each other before they meet: lists of processes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/lapi/process_messages.h"

namespace openlapi::rpi {

// Of a process that leads and another one. Either is `own`.
class ProcessPair {
 public:
  ProcessPair(const _gps& leader, const _gps& other, const _gps& own);

  // False: `error` says why.
  bool say(std::span<const _gps> processes, std::string& error);
  // Says instead why there will be no meeting.
  void refuse(const std::string& why);
  // Whether the other one of the two has said something.
  bool has_heard() { return messages_->has_message(other()); }
  // Whether the other one is known to have ended. What it said before may still come.
  bool has_other_ended() const { return messages_->has_died(other()); }
  // The next list that it says; waits for it. False: `error` says why, also if it is why there will be no meeting; and
  // one that is of another version has been told of this process's.
  bool hear(std::vector<_gps>& processes, std::string& error);

 private:
  std::uint32_t other() const { return 1 - messages_->rank(); }

  std::unique_ptr<ProcessMessages> messages_;
};

}  // namespace openlapi::rpi
