#include "tests/unit/rpi/job/lam_job.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>

// Modules see what this program has.
#pragma GCC visibility push(default)
#include "api/rpi/lapi/lam_host.h"
struct lam_mutex {
  pthread_mutex_t real;
};
lam_mutex lam_mpi_mutex{PTHREAD_MUTEX_INITIALIZER};
#pragma GCC visibility pop

namespace openlapi::rpi {
namespace {

constexpr int kMostProcesses = 16;
constexpr timespec kPause{0, 1'000'000};

struct Inbox {
  int read = -1, write = -1;
};
// What processes tell each other before there are messages, and in their ends.
struct Shared {
  std::atomic<int> pids[kMostProcesses];
  std::atomic<int> saved[kMostProcesses];  // process numbers of what was saved; 0: nothing
  std::atomic<int> restarts, killed;       // of the whole job; processes so far
  pid_t launcher;
  char mistakes[kMostProcesses][400];
};

struct Piece {
  nmsg head;
  std::vector<char> bytes;
};

std::vector<Inbox> inboxes;  // by index
int own_index = 0;
Shared* shared_by_all = nullptr;
std::deque<Piece>& arrived() {
  static std::deque<Piece> pieces;
  return pieces;
}

void take_in() {
  char room[sizeof(nmsg) + MAXNMSGLEN];
  for (;;) {
    const ssize_t size = recv(inboxes[static_cast<std::size_t>(own_index)].read, room, sizeof room, MSG_DONTWAIT);
    if (size < static_cast<ssize_t>(sizeof(nmsg))) return;
    Piece& piece = arrived().emplace_back();
    std::memcpy(&piece.head, room, sizeof piece.head);
    piece.bytes.assign(room + sizeof piece.head, room + size);
  }
}

int send_piece(const nmsg& message, int index) {
  char room[sizeof(nmsg) + MAXNMSGLEN];
  const auto length = static_cast<std::size_t>(message.nh_length);
  std::memcpy(room, &message, sizeof message);
  if (length > 0) std::memcpy(room + sizeof message, message.nh_msg, length);
  const int inbox = inboxes[static_cast<std::size_t>(index)].write;
  while (send(inbox, room, sizeof message + length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) return LAMERROR;
    take_in();  // who waits for us may be waited for
    pollfd ready{inbox, POLLOUT, 0};
    poll(&ready, 1, 1);
  }
  return 0;
}

void become_process(int processes, const Shared& shared) {
  for (int rank = 0; rank < processes; ++rank) {
    while (shared.pids[rank].load() == 0) nanosleep(&kPause, nullptr);
    _gps gps{0, shared.pids[rank].load(), rank, rank};
    _proc* const process = lam_procadd(&gps);
    if (rank == own_index) lam_myproc = process;
  }
}

[[noreturn]] void run_process(int rank, int processes, Shared& shared, const std::function<void(int)>& work) {
  int status = 1;
  own_index = rank;
  try {
    become_process(processes, shared);
    work(rank);
    status = 0;
  } catch (const std::exception& error) {
    std::snprintf(shared.mistakes[rank], sizeof shared.mistakes[rank], "%s", error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

std::vector<pid_t> start_processes(int processes, Shared& shared, const std::function<void(int)>& work) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < processes; ++rank) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) run_process(rank, processes, shared, work);
    if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    shared.pids[rank].store(pid);
    pids.push_back(pid);
  }
  return pids;
}

// Awaits the ends of processes, and restarts those that were saved when all have been killed.
class Ends {
 public:
  Ends(std::vector<pid_t> pids, Shared& shared)
      : pids_(std::move(pids)), shared_(shared), statuses_(pids_.size(), kRunning) {}
  // Kills those that have not ended by then.
  ~Ends() {
    for (std::size_t n = 0; n < pids_.size(); ++n) {
      if (statuses_[n] != kRunning) continue;
      end(pids_[n]);
      if (const pid_t saved = shared_.saved[n].load(); saved != 0) end(saved);
    }
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  const std::vector<int>& await(unsigned most_seconds) {
    timespec begin{}, now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (now = begin; some_run() && now.tv_sec - begin.tv_sec < static_cast<long>(most_seconds);) {
      for (std::size_t n = 0; n < pids_.size(); ++n) look(n);
      nanosleep(&kPause, nullptr);
      clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return statuses_;
  }

 private:
  static constexpr int kRunning = -1;

  bool some_run() const { return std::ranges::find(statuses_, kRunning) != statuses_.end(); }

  void look(std::size_t n) {
    int status = 0;
    if (statuses_[n] != kRunning || waitpid(pids_[n], &status, WNOHANG) != pids_[n]) return;
    const pid_t saved = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? shared_.saved[n].exchange(0) : 0;
    if (saved == 0) {
      statuses_[n] = status;
      return;
    }
    pids_[n] = saved;
    shared_.pids[n].store(0);
    if (++killed_ < pids_.size()) return;
    killed_ = 0;
    ++shared_.restarts;
  }

  static void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }

  std::vector<pid_t> pids_;
  Shared& shared_;
  std::vector<int> statuses_;
  std::size_t killed_ = 0;  // that wait for the restart
};

bool has_messages(int descriptor) {
  return std::ranges::any_of(inboxes,
                             [&](const Inbox& each) { return descriptor == each.read || descriptor == each.write; });
}

// As a saved process has none.
void close_files() {
  std::vector<int> open;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    open.push_back(std::atoi(each.path().filename().c_str()));
  }
  for (const int descriptor : open) {
    if (descriptor > STDERR_FILENO && !has_messages(descriptor)) close(descriptor);
  }
}

// Other processes have other numbers, too, by now.
void become_restarted() {
  close_files();
  shared_by_all->pids[own_index].store(getpid());
  for (int rank = 0; rank < lam_num_procs; ++rank) {
    while (shared_by_all->pids[rank].load() == 0) nanosleep(&kPause, nullptr);
    lam_procs[rank]->p_gps.gps_pid = shared_by_all->pids[rank].load();
  }
}

}  // namespace

std::string run_lam_job(int processes, unsigned most_seconds, const std::function<void(int rank)>& work) {
  if (processes < 1 || processes > kMostProcesses) throw std::invalid_argument("a job has 1 to 16 processes");
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto& shared = *new (memory) Shared{};
  shared.launcher = getpid();
  shared_by_all = &shared;
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // of what processes have saved, when they are no more
  inboxes.assign(static_cast<std::size_t>(processes), {});
  for (Inbox& inbox : inboxes) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
    inbox = {ends[0], ends[1]};
  }
  const std::vector<int> statuses = Ends(start_processes(processes, shared, work), shared).await(most_seconds);
  std::string wrong;
  for (int rank = 0; rank < processes; ++rank) {
    const int status = statuses[static_cast<std::size_t>(rank)];
    if (status == 0) continue;
    wrong += "process " + std::to_string(rank) + ": " +
             (status == -1                    ? "has not come to its end"
              : shared.mistakes[rank][0] != 0 ? shared.mistakes[rank]
                                              : ("status " + std::to_string(status)).c_str()) +
             "\n";
  }
  for (const Inbox& inbox : inboxes) {
    close(inbox.read);
    close(inbox.write);
  }
  munmap(memory, sizeof(Shared));
  return wrong;
}

LockedCall::LockedCall() {
  lam_mpi_thread_level = MPI_THREAD_SERIALIZED;
  pthread_mutex_lock(&lam_mpi_mutex.real);
}

LockedCall::~LockedCall() { lam_mutex_unlock(&lam_mpi_mutex); }

bool save_process() {
  const int restarts = shared_by_all->restarts.load();
  const pid_t saved = fork();
  if (saved < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (saved > 0) {
    shared_by_all->saved[own_index].store(saved);
    return false;
  }
  while (shared_by_all->restarts.load() == restarts) {
    nanosleep(&kPause, nullptr);
    if (kill(shared_by_all->launcher, 0) != 0) _exit(1);
  }
  become_restarted();
  return true;
}

void kill_process() {
  const int all = lam_num_procs * (shared_by_all->restarts.load() + 1);
  for (++shared_by_all->killed; shared_by_all->killed.load() < all;) nanosleep(&kPause, nullptr);
  kill(getpid(), SIGKILL);
  _exit(1);
}

}  // namespace openlapi::rpi

// ---- What LAM's programs have ----

using openlapi::rpi::arrived;

int lam_rq_nactv = 0;
int lam_mpi_thread_level = MPI_THREAD_SINGLE;

int lam_mutex_trylock(lam_mutex* mutex) { return pthread_mutex_trylock(&mutex->real); }

void lam_mutex_unlock(lam_mutex* mutex) { pthread_mutex_unlock(&mutex->real); }

int nsend(nmsg* message) { return openlapi::rpi::send_piece(*message, message->nh_event & 0x7fff); }

int ntry_recv(nmsg* message) {
  openlapi::rpi::take_in();
  const auto found = std::ranges::find_if(arrived(), [&](const auto& piece) {
    return piece.head.nh_event == message->nh_event && piece.head.nh_type == message->nh_type;
  });
  if (found == arrived().end()) {
    errno = EWOULDBLOCK;
    return LAMERROR;
  }
  char* const room = message->nh_msg;
  const auto length = std::min(static_cast<std::size_t>(message->nh_length), found->bytes.size());
  *message = found->head;
  message->nh_msg = room;
  message->nh_length = static_cast<int4>(length);
  std::copy_n(found->bytes.data(), length, room);
  arrived().erase(found);
  return 0;
}

void _m2l_fillsys(int, int sender_index, int node, int index, int, int tag, nmsg* message) {
  message->nh_node = node;
  message->nh_event = index;
  message->nh_type = sender_index << 16 | tag;
}

// This host starts all requests itself.
int _mpi_req_start(MPI_Request) { return LAMERROR; }

int lam_mkerr(int error_class, int) { return error_class; }
