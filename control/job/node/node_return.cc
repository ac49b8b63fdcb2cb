// The daemon of this node, or one on the way to lapirun, is lost: the way to lapirun itself.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

#include "control/base/sockets.h"
#include "control/job/messages/message_to.h"
#include "control/job/messages/return_way.h"
#include "control/job/node/node_service.h"

namespace openlapi::jobs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{50};  // lapirun's queue is full, or strangers have taken the place

}  // namespace

void NodeService::lose_way() {
  if (over_ && way_ != Way::kConnects) way_ = Way::kNone;
  if (way_ == Way::kNone) return;
  const bool is_first_try = way_ == Way::kDaemon || way_ == Way::kLapirun;
  if (is_first_try) return_by_ = Clock::now() + kReturnTime;
  if (is_first_try && !folder_) make_folder();
  way_ = Way::kConnects;
  connection_.close();
  try_again_at_ = Clock::now() + (is_first_try ? kPause * 0 : kPause);
}

// Without one (the disk is full) the job goes on, and tkill does not find this process.
void NodeService::make_folder() {
  try {
    folder_.emplace(session_ + "-t" + std::to_string(getpid()));
    folder_->write_process_number(getpid());
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "lamtasks: tkill will not find this process: %s\n", wrong.what());
    folder_.reset();
  }
}

void NodeService::try_to_return() {
  try_again_at_.reset();
  FileDescriptor socket = begin_to_return(job_.tasks.return_to);
  if (!socket.is_open()) {
    try_again_at_ = Clock::now() + kPause;
    return;
  }
  connection_ = return_way(std::move(socket), job_.tasks.return_to, daemon::SealedStream::Role::kConnects);
}

// Nobody listens: lapirun has ended. Who is cut off only now goes on with nobody, if the user wants that.
void NodeService::finish_connect() {
  const int error = connect_error(connection_.fd());
  if (error == ECONNREFUSED) {
    over_ = over_ || has_returned_;
    way_ = Way::kNone;
    return;
  }
  if (error != 0) return lose_way();
  way_ = Way::kGreets;
  const Return who{job_.this_node().node, counted_.taken()};
  connection_.send(message_to({}, encode(who)));
}

// A lapirun that is there, and says nothing, is stopped: it is waited for. Who was told to end only wants to say so.
void NodeService::go_on_with_return() {
  const bool has_last_word = over_ && (way_ == Way::kGreets || way_ == Way::kLapirun);
  if (way_ != Way::kConnects && !has_last_word) return;
  const Clock::time_point now = Clock::now();
  const bool has_said_it = way_ == Way::kLapirun && !connection_.has_outgoing();
  if (has_said_it || (return_by_ && now >= *return_by_)) {
    way_ = Way::kNone;
  } else if (way_ == Way::kConnects && try_again_at_ && now >= *try_again_at_) {
    try_to_return();
  }
}

void NodeService::take_returned(const Returned& message) {
  if (way_ != Way::kGreets) return;
  way_ = Way::kLapirun;
  has_returned_ = true;
  if (!over_) return_by_.reset();
  counted_.confirm(message.taken);
  for (const MessageBytes& bytes : counted_.unconfirmed()) send_bytes({}, bytes);
  go_through_lapirun();
}

void NodeService::go_through_lapirun() {
  if (!std::exchange(goes_through_lapirun_, true)) exchange_.ask_again();
}

}  // namespace openlapi::jobs
