#include "control/daemon/service/job_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"
#include "control/base/socket_peer.h"

namespace openlapi::daemon {
namespace {

constexpr char kHelper[] = "lamtasks";
constexpr int kNotExecuted = 127;
// For a helper that is to end: tasks have 2 s of it.
constexpr std::chrono::seconds kEndTime{10};
constexpr std::chrono::seconds kCleanTime{5};  // when lamclean waits

std::string helper_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string() + "/" + kHelper;
}

// Its own session: what the daemon's terminal sends is not for it. Standard output and error: the daemon's log.
[[noreturn]] void run_helper(const char* path, const char* session, int socket) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // one that is stopped reads the end of its socket, too
  dup2(socket, STDIN_FILENO);
  execl(path, kHelper, session, static_cast<char*>(nullptr));
  _exit(kNotExecuted);
}

struct HelperProcess {
  FileDescriptor socket{};
  FileDescriptor process_fd{};
  pid_t process = 0;
};

HelperProcess start_process(const std::string& session) {
  const std::string path = helper_path();
  if (access(path.c_str(), X_OK) != 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error(std::string("socketpair: ") + std::strerror(errno));
  }
  HelperProcess helper{FileDescriptor(ends[0])};
  const FileDescriptor other(ends[1]);
  helper.process = fork();
  if (helper.process == 0) run_helper(path.c_str(), session.c_str(), other.get());
  if (helper.process < 0) throw std::runtime_error(std::string("fork: ") + fork_failure(errno));
  helper.process_fd = process_handle(helper.process);
  fcntl(helper.socket.get(), F_SETFL, O_NONBLOCK);
  return helper;
}

// What is to be said of a helper's end; nothing when it is as it should be.
std::string end_text(pid_t process) {
  const int status = await_child(process);
  if (WIFSIGNALED(status)) return "lamtasks was killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == kNotExecuted) return helper_path() + " cannot be executed";
  return WEXITSTATUS(status) == 0 ? "" : "lamtasks has failed, see lam-log there";
}

}  // namespace

void JobServer::add_lapirun(Connection connection, const JobMessage& first) {
  const pid_t process = socket_peer(connection.fd()).value_or(ucred{}).pid;
  Lapirun& lapirun = lapiruns_.emplace_back(Lapirun{delivery_.open(), std::move(connection), process});
  delivery_.from_lapirun(lapirun.job, first);
  serve_lapirun(lapirun);
}

void JobServer::serve_lapirun(Lapirun& lapirun) {
  if (lapirun.over) return;
  lapirun.over = !lapirun.connection.serve();
  while (const auto bytes = lapirun.connection.stream().next()) {
    auto message = decode(*bytes);
    auto* of_job = message ? std::get_if<JobMessage>(&*message) : nullptr;
    if (of_job == nullptr) {
      lapirun.over = true;
      return;
    }
    delivery_.from_lapirun(lapirun.job, std::move(*of_job));
  }
}

bool JobServer::take(Helper& helper) {
  while (const auto bytes = helper.connection.stream().next()) {
    auto message = decode(*bytes);
    auto* of_job = message ? std::get_if<JobMessage>(&*message) : nullptr;
    if (of_job == nullptr) return false;
    delivery_.from_helper(helper.job, std::move(*of_job));
  }
  return true;
}

void JobServer::serve_helper(Helper& helper) {
  if (helper.over) return;
  const bool goes_on = helper.connection.serve();
  if (!take(helper) || !goes_on) end_helper(helper.job);
}

void JobServer::start_helper(const JobId& job, const MessageBytes& body) {
  try {
    HelperProcess started = start_process(session_);
    Helper& helper = helpers_.emplace_back(
        Helper{job, Connection(std::move(started.socket), std::make_unique<MessageStream>()), started.process});
    helper.process_fd = std::move(started.process_fd);
    helper.connection.send(JobMessage{job.first, job.second, job.first, JobAction::kStart, {table_.here()}, body});
  } catch (const std::exception& wrong) {
    delivery_.helper_gone(job, wrong.what());
  }
}

void JobServer::tell_helper(const JobId& job, const JobMessage& message) {
  for (Helper& helper : helpers_) {
    if (helper.job == job && !helper.over) helper.connection.send(message);
  }
}

void JobServer::end_helper(const JobId& job) {
  for (Helper& helper : helpers_) {
    if (helper.job == job && !helper.over) helper.kill_at = std::chrono::steady_clock::now() + kEndTime;
  }
  tell_helper(job, JobMessage{job.first, job.second, job.first, JobAction::kEnd, {table_.here()}, {}});
  leave_helper(job);
}

void JobServer::end_helpers() {
  tell_strays_to_end();
  end_lapiruns("the daemon here (lamd) was told to end: the job ends with it");
  for (const Lapirun& lapirun : lapiruns_) delivery_.lapirun_gone(lapirun.job);
  for (Helper& helper : helpers_) {
    if (!helper.over) delivery_.helper_gone(helper.job, "its daemon (lamd) was told to end");
    end_helper(helper.job);
  }
}

// They have gone over to lapirun themselves, and hear nothing over their connections.
void JobServer::tell_strays_to_end() {
  for (const Helper& helper : helpers_) {
    if (helper.over) kill(helper.process, SIGTERM);
  }
}

// It is told why, and hears no more: the nodes are told of that as when it has ended.
void JobServer::end_lapiruns(const std::string& why) {
  for (Lapirun& lapirun : lapiruns_) {
    tell_lapirun(lapirun.job, JobMessage{lapirun.job.first,
                                         lapirun.job.second,
                                         table_.here(),
                                         JobAction::kBroken,
                                         {},
                                         MessageBytes(why.begin(), why.end())});
    lapirun.connection.flush();
    lapirun.over = true;
  }
}

void JobServer::end_jobs() {
  tell_strays_to_end();
  end_lapiruns("lamclean has ended the job");
  for (Helper& helper : helpers_) {
    end_helper(helper.job);
    helper.is_to_end = true;
    const Time until = std::chrono::steady_clock::now() + kCleanTime;
    helper.kill_at = helper.kill_at ? std::min(*helper.kill_at, until) : until;
  }
}

std::optional<Time> JobServer::deadline() const {
  std::optional<Time> first;
  for (const Helper& helper : helpers_) {
    if (helper.kill_at && (!first || *helper.kill_at < *first)) first = helper.kill_at;
  }
  return first;
}

bool JobServer::is_ending() const { return std::ranges::any_of(helpers_, &Helper::is_to_end); }

// It reads the end of its socket. What waits for it still goes, as far as it goes at once.
void JobServer::leave_helper(const JobId& job) {
  for (Helper& helper : helpers_) {
    if (helper.job != job || helper.over) continue;
    helper.connection.flush();
    helper.over = true;
    shutdown(helper.connection.fd(), SHUT_RDWR);
  }
}

void JobServer::tell_lapirun(const JobId& job, const JobMessage& message) {
  for (Lapirun& lapirun : lapiruns_) {
    if (lapirun.job == job && !lapirun.over) lapirun.connection.send(message);
  }
}

JobsMessage JobServer::jobs() const {
  std::map<JobId, JobEntry> jobs;
  const auto entry_of = [&](const JobId& job) -> JobEntry& {
    return jobs.try_emplace(job, JobEntry{job.first, job.second}).first->second;
  };
  for (const Lapirun& lapirun : lapiruns_) {
    JobEntry& entry = entry_of(lapirun.job);
    entry.lapirun = static_cast<std::uint32_t>(lapirun.process);
    entry.nodes = delivery_.nodes_of(lapirun.job);
  }
  for (const Helper& helper : helpers_) entry_of(helper.job).helper = static_cast<std::uint32_t>(helper.process);
  JobsMessage message;
  for (auto& [job, entry] : jobs) message.jobs.push_back(std::move(entry));
  return message;
}

void JobServer::watch(PollSet& poll_set) {
  for (Lapirun& lapirun : lapiruns_) {
    poll_set.add(lapirun.connection.fd(), lapirun.connection.events(), [this, &lapirun] { serve_lapirun(lapirun); });
  }
  for (Helper& helper : helpers_) {
    if (!helper.over) {
      poll_set.add(helper.connection.fd(), helper.connection.events(), [this, &helper] { serve_helper(helper); });
    }
    poll_set.add(helper.process_fd.get(), POLLIN, [&helper] { helper.ended = true; });
  }
}

void JobServer::tick() {
  for (const Lapirun& lapirun : lapiruns_) {
    if (lapirun.over) delivery_.lapirun_gone(lapirun.job);
  }
  std::erase_if(lapiruns_, [](const Lapirun& lapirun) { return lapirun.over; });
  for (Helper& helper : helpers_) {
    if (!helper.ended) continue;
    serve_helper(helper);  // its last words
    delivery_.helper_gone(helper.job, end_text(helper.process));
  }
  std::erase_if(helpers_, [](const Helper& helper) { return helper.ended; });
  for (Helper& helper : helpers_) {
    if (!helper.kill_at || *helper.kill_at > std::chrono::steady_clock::now()) continue;
    helper.kill_at.reset();
    kill(helper.process, SIGKILL);
  }
  delivery_.go_on();
}

}  // namespace openlapi::daemon
