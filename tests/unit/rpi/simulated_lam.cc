#include "tests/unit/rpi/simulated_lam.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "api/rpi/lapi/lam_host.h"

namespace {

struct Slot {
  bool used = false;
  long order = 0;
  nmsg head{};
  std::array<char, MAXNMSGLEN> bytes{};
};

struct Daemon {
  pthread_mutex_t mutex{};
  long sent = 0;
  std::array<Slot, 256> slots{};
};

Daemon& daemon_of_all() {
  static auto* const daemon =
      static_cast<Daemon*>(mmap(nullptr, sizeof(Daemon), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return *daemon;
}

class Turn {
 public:
  Turn() { pthread_mutex_lock(&daemon_of_all().mutex); }
  ~Turn() { pthread_mutex_unlock(&daemon_of_all().mutex); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

}  // namespace

extern "C" {

// Of the sender's node LAM compares eight bits.
void _m2l_fillsys(int sender_node, int sender_index, int node, int index, int, int tag, nmsg* message) {
  message->nh_node = node;
  message->nh_event = index;
  message->nh_type = (sender_node & 0xff) << 24 | (sender_index & 0x3f) << 16 | tag;
}

int nsend(nmsg* message) {
  const Turn turn;
  for (Slot& slot : daemon_of_all().slots) {
    if (slot.used) continue;
    slot.used = true;
    slot.order = ++daemon_of_all().sent;
    slot.head = *message;
    std::copy_n(message->nh_msg, message->nh_length, slot.bytes.data());
    return 0;
  }
  errno = ENOBUFS;
  return LAMERROR;
}

int ntry_recv(nmsg* message) {
  const Turn turn;
  Slot* oldest = nullptr;
  for (Slot& slot : daemon_of_all().slots) {
    const bool is_for_it = slot.used && slot.head.nh_node == message->nh_node &&
                           slot.head.nh_event == message->nh_event && slot.head.nh_type == message->nh_type;
    if (is_for_it && (oldest == nullptr || slot.order < oldest->order)) oldest = &slot;
  }
  if (oldest == nullptr) {
    errno = EWOULDBLOCK;
    return LAMERROR;
  }
  char* const room = message->nh_msg;
  *message = oldest->head;
  message->nh_msg = room;
  std::copy_n(oldest->bytes.data(), message->nh_length, room);
  oldest->used = false;
  return 0;
}

}  // extern "C"

namespace openlapi::rpi {

void reset_lam() {
  Daemon& daemon = daemon_of_all();
  for (Slot& slot : daemon.slots) slot.used = false;
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&daemon.mutex, &shared);
}

std::vector<_gps> lam_places(int count, int per_node) {
  std::vector<_gps> places;
  for (int rank = 0; rank < count; ++rank) {
    places.push_back({.gps_node = rank / per_node, .gps_pid = getpid(), .gps_idx = 1 + rank, .gps_grank = rank});
  }
  return places;
}

int run_processes(std::span<const std::function<bool()>> processes) {
  std::vector<pid_t> children;
  for (const auto& work : processes) {
    const pid_t child = fork();
    if (child == 0) _exit(work() ? 0 : 1);
    children.push_back(child);
  }
  return static_cast<int>(std::ranges::count_if(children, [](pid_t child) {
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
  }));
}

}  // namespace openlapi::rpi
