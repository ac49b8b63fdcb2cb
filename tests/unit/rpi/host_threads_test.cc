// MPI_THREAD_MULTIPLE: any number of threads in any function of the host, with requests of their own.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/unit/rpi/lifecycle/peer_module.h"
#include "tests/unit/rpi/own_process.h"

namespace {

std::atomic<long> locks_taken = 0;

}  // namespace

#ifndef __SANITIZE_THREAD__
// All mutexes of this program pass here.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks_taken;
  return lock(mutex);
}
#endif

namespace openlapi::rpi {
namespace {

constexpr int kThreads = 4, kRounds = 4000;

Operation operation(OwnProcess& process, int type, int& value, int tag) {
  return {.type = type,
          .buffer = &value,
          .layout = contiguous(sizeof value),
          .peer = type < LAM_RQIRECV ? 0 : MPI_ANY_SOURCE,
          .tag = tag,
          .comm = process.comm()};
}

template <typename Work>
void in_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) threads.emplace_back([&work, n] { work(n); });
  for (std::thread& thread : threads) thread.join();
}

// Every function, in each thread with a tag of its own.
TEST(HostThreads, EachHasItsRequests) {
  OwnProcess process(MPI_THREAD_MULTIPLE);
  Host& host = process.host();
  std::atomic<int> wrong = 0;
  in_threads([&](int thread) {
    int persistent_in = 0;
    Operation receives = operation(process, LAM_RQIRECV, persistent_in, thread);
    receives.marks = LAM_RQFPERSIST;
    MPI_Request persistent = host.build(receives);
    for (int round = 1; round <= kRounds; ++round) {
      int out = 1000 * round + thread, in = 0, unused = 0;
      MPI_Request cancelled = host.build_and_start(operation(process, LAM_RQIRECV, unused, 100 + thread));
      MPI_Request sending = host.build_and_start(operation(process, LAM_RQISSEND, out, thread));
      const MPI_Status probed = host.probe(process.comm(), MPI_ANY_SOURCE, thread);
      host.start(persistent);
      host.wait(persistent);
      host.wait(sending);
      MPI_Request second = host.build_and_start(operation(process, LAM_RQISEND, out, thread));
      host.free(second);
      std::vector<MPI_Request> either{cancelled, host.build_and_start(operation(process, LAM_RQIRECV, in, thread))};
      const int which = host.wait_any(either);
      host.cancel(either[0]);
      const MPI_Status status = host.wait(either[0]);
      wrong += probed.st_length != sizeof out || persistent_in != out || in != out || which != 1 ||
               status.MPI_SOURCE != MPI_CANCEL_SOURCE;
      MPI_Status none{};
      wrong += host.iprobe(process.comm(), 0, thread, &none) ? 1 : 0;
    }
    host.free(persistent);
  });
  EXPECT_EQ(wrong, 0);
  host.progress();
  EXPECT_EQ(host.orphans(), 0U);
}

// Threads compete for the same messages: each goes to one, and what a thread gets is in order.
TEST(HostThreads, EachMessageGoesToOneOfThem) {
  OwnProcess process(MPI_THREAD_MULTIPLE);
  Host& host = process.host();
  std::vector<std::atomic<int>> received(kThreads * kRounds);
  std::atomic<int> overtaken = 0;
  in_threads([&](int thread) {
    if (thread == 0) {
      for (int number = 0; number < (kThreads - 1) * kRounds; ++number) {
        host.run(operation(process, number % 3 == 0 ? LAM_RQISSEND : LAM_RQISEND, number, 7));
      }
      return;
    }
    int last = -1;
    for (int round = 0; round < kRounds; ++round) {
      int in = -1;
      host.run(operation(process, LAM_RQIRECV, in, 7));
      ++received[static_cast<std::size_t>(in)];
      overtaken += in <= last ? 1 : 0;
      last = in;
    }
  });
  for (int number = 0; number < (kThreads - 1) * kRounds; ++number) {
    EXPECT_EQ(received[static_cast<std::size_t>(number)], 1) << number;
  }
  EXPECT_EQ(overtaken, 0);
}

// Receives from anybody over three modules, by several threads, while messages come in all of them.
TEST(HostThreads, AnySourceOfSeveralModulesHasEachMessageOnce) {
  OwnProcess process(MPI_THREAD_MULTIPLE);
  for (int rank = 1; rank <= 2; ++rank) {
    _gps gps{rank, rank, rank, rank};
    lam_procadd(&gps);
  }
  DrivenModule self{.name = "self", .actions = process.actions()}, first = peer_module(0), second = peer_module(1);
  const auto module_of = [&](const _proc& each) {
    return each.p_gps.gps_grank == 0 ? &self : each.p_gps.gps_grank == 1 ? &first : &second;
  };
  Host host({&self, &first, &second}, module_of, {.tag = 100, .context = 100}, MPI_THREAD_MULTIPLE);
  Communicator world(3, std::span(lam_procs, 3));
  constexpr int kOfEach = kRounds / 2;
  for (int rank = 1; rank <= 2; ++rank) {
    for (int number = 0; number < kOfEach; ++number) {
      const int value = rank * kOfEach + number;
      Peers::Arrival arrival{lam_procs[rank], {sizeof value, 5, 0, rank, 3, value}, std::vector<char>(sizeof value)};
      std::memcpy(arrival.data.data(), &value, sizeof value);
      peers(rank - 1).send(std::move(arrival));
    }
  }
  std::vector<std::atomic<int>> received(3 * kOfEach);
  std::atomic<int> next = 0, left = 3 * kOfEach;
  in_threads([&](int) {
    while (left-- > 0) {
      int in = -1, out = next++;
      const auto asked = [&](int type, int& value, int peer) {
        return Operation{type, &value, contiguous(sizeof value), peer, 5, world.handle()};
      };
      MPI_Request receive = host.build_and_start(asked(LAM_RQIRECV, in, MPI_ANY_SOURCE));
      if (out < kOfEach) host.run(asked(LAM_RQISEND, out, 0));
      host.wait(receive);
      ++received[static_cast<std::size_t>(in)];
    }
  });
  for (const auto& times : received) EXPECT_EQ(times, 1);
}

#ifndef __SANITIZE_THREAD__
TEST(HostThreads, ASingleThreadTakesNoLock) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE}) {
    OwnProcess process(level);
    const long before = locks_taken;
    for (int n = 0; n < 100; ++n) {
      int out = n, in = -1;
      process.host().run(operation(process, LAM_RQISEND, out, 1));
      EXPECT_TRUE(process.host().iprobe(process.comm(), 0, 1, nullptr));
      process.host().run(operation(process, LAM_RQIRECV, in, 1));
      EXPECT_EQ(in, n);
    }
    EXPECT_EQ(locks_taken > before, level == MPI_THREAD_MULTIPLE) << level;
  }
}
#endif

}  // namespace
}  // namespace openlapi::rpi
