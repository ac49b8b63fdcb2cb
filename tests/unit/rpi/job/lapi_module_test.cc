// The module `lapi` as it is loaded, in processes of its own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "control/ssi/ssi_error.h"
#include "dataplane/base/monotonic_clock.h"
#include "tests/unit/rpi/job/loaded_process.h"

namespace openlapi::rpi {
namespace {

constexpr unsigned kMostSeconds = 120;

void require(bool holds, const std::string& what) {
  if (!holds) throw Failure(what);
}

struct Way {
  const char* shared_memory;
  const char* progress;
};

void compute(Nanoseconds duration) {
  const MonotonicClock clock;
  for (const Nanoseconds until = clock.now() + duration; clock.now() < until;) continue;
}

class LapiModuleTest : public testing::TestWithParam<Way> {
 protected:
  LapiModuleTest() {
    setenv("LAPI_USE_SHM", GetParam().shared_memory, 1);
    setenv("LAM_MPI_SSI_rpi_lapi_progress", GetParam().progress, 1);
    setenv("LAM_MPI_SSI_rpi_lapi_short", "1000", 1);
  }
  ~LapiModuleTest() override {
    unsetenv("LAPI_USE_SHM");
    unsetenv("LAM_MPI_SSI_rpi_lapi_progress");
    unsetenv("LAM_MPI_SSI_rpi_lapi_short");
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, LapiModuleTest,
                         testing::Values(Way{"only", "0"}, Way{"no", "0"}, Way{"only", "1"}, Way{"no", "1"}),
                         [](const auto& each) {
                           return std::string(each.param.shared_memory[0] == 'n' ? "udp" : "shm") +
                                  (each.param.progress[0] == '1' ? "_thread" : "");
                         });

// Blocking operations of a process without requests: short and long, found and waited for, truncated.
TEST_P(LapiModuleTest, FastMessagesGoToAndFro) {
  EXPECT_EQ(
      run_lam_job(2, kMostSeconds,
                  [](int rank) {
                    ModuleProcess process;
                    require(process.actions().lsra_fastsend != nullptr && process.actions().lsra_fastrecv != nullptr,
                            "no functions");
                    std::vector<char> out(100'000), in(100'000);
                    for (const int size : {0, 1, 8, 1000, 1001, 100'000}) {
                      for (int round = 0; round < 20; ++round) {
                        for (int n = 0; n < size; ++n)
                          out[static_cast<std::size_t>(n)] = static_cast<char>(n * 3 + round);
                        const Operation send = process.send(1 - rank, round, out.data(), size);
                        const Operation receive =
                            process.receive(1 - rank, round % 2 == 0 ? MPI_ANY_TAG : round, in.data(), size);
                        if (rank == 0) process.host().run(send);
                        const MPI_Status status = process.host().run(receive);
                        require(status.MPI_SOURCE == 1 - rank && status.MPI_TAG == round && status.st_length == size,
                                "wrong status");
                        require(std::memcmp(in.data(), out.data(), static_cast<std::size_t>(size)) == 0, "wrong data");
                        if (rank == 1) process.host().run(send);
                      }
                    }
                    // The second is there before the first is received.
                    const char text[] = "abcdef";
                    if (rank == 0) {
                      process.host().run(process.send(1, 5, text, 6));
                      process.host().run(process.send(1, 6, text, 3));
                    } else {
                      require(process.host().run(process.receive(0, 6, in.data(), 6)).st_length == 3, "the later one");
                      const MPI_Status status = process.host().run(process.receive(0, 5, in.data(), 4));
                      require(status.MPI_ERROR == MPI_ERR_TRUNCATE && status.st_length == 4, "truncation is not said");
                    }
                  }),
      "");
}

TEST_P(LapiModuleTest, MemoryIsForTransfersAndFreedOnce) {
  EXPECT_EQ(
      run_lam_job(
          2, kMostSeconds,
          [](int rank) {
            ModuleProcess process;
            constexpr int kSize = 5 << 20;
            char* memory = nullptr;
            require(process.actions().lsra_alloc_mem(kSize, MPI_INFO_NULL, &memory) == 0, "no memory");
            std::memset(memory, rank, kSize);
            if (rank == 0) {
              process.host().run(process.send(1, 5, memory, kSize));
            } else {
              process.host().run(process.receive(0, 5, memory, kSize));
              require(memory[0] == 0 && memory[kSize - 1] == 0, "wrong data");
            }
            testing::internal::CaptureStderr();
            require(process.actions().lsra_free_mem(memory + 1) == LAMERROR, "somebody else's memory is freed");
            require(process.actions().lsra_free_mem(memory) == 0, "memory is not freed");
            require(process.actions().lsra_free_mem(memory) == LAMERROR, "memory is freed twice");
            require(process.actions().lsra_alloc_mem(-1, MPI_INFO_NULL, &memory) == LAMERROR, "less than nothing");
            const std::string said = testing::internal::GetCapturedStderr();
            require(said.find("is not allowed: it is what MPI_Alloc_mem has given, once") != std::string::npos, said);
            require(said.find("MPI_Alloc_mem of -1 bytes is not allowed: it is 0 or more") != std::string::npos, said);
          }),
      "");
}

// As a program that has LAM's MPI_Cancel, and computes between its calls.
TEST_P(LapiModuleTest, CancelledReceivesLoseNothing) {
  EXPECT_EQ(run_lam_job(3, kMostSeconds,
                        [](int rank) {
                          require(dlopen(std::getenv("RPI_CANCELLING"), RTLD_LAZY) != nullptr,
                                  "nothing may be cancelled");
                          std::optional<LoadedProcess> process;
                          const auto call = [&](auto&& work) {
                            const LockedCall locked;
                            work();
                          };
                          call([&] { process.emplace(rank, 300, 4); });
                          for (unsigned n = 0; n < 3000; ++n) {
                            call([&] { process->act(); });
                            compute(n % 16 * 2 * kMicrosecond);
                            call([&] { process->cancel(); });
                          }
                          call([&] { process->finish(); });
                          call([&] { process.reset(); });
                        }),
            "");
}

TEST_P(LapiModuleTest, CheckpointsUnderLoadLoseNothing) {
  EXPECT_EQ(run_lam_job(3, kMostSeconds,
                        [](int rank) {
                          LoadedProcess process(rank, 250, 1);
                          for (int checkpoint = 0; checkpoint < 50; ++checkpoint) {
                            for (int n = 0; n < 30; ++n) process.act();
                            process.host().checkpoint();
                            process.host().go_on();
                          }
                          process.finish();
                        }),
            "");
}

TEST_P(LapiModuleTest, ARestartOpensEverythingAnewAndLosesNothing) {
  EXPECT_EQ(run_lam_job(3, kMostSeconds,
                        [](int rank) {
                          LoadedProcess process(rank, 200, 2);
                          for (int checkpoint = 0; checkpoint < 10; ++checkpoint) {
                            for (int n = 0; n < 80; ++n) process.act();
                            process.host().checkpoint();
                            process.host().restart();
                          }
                          process.finish();
                        }),
            "");
}

// The processes that were saved, with other numbers and without a file or a socket, when all others have been killed.
TEST_P(LapiModuleTest, ProcessesThatWereSavedLoseNothingWhenTheOthersAreKilled) {
  EXPECT_EQ(run_lam_job(3, kMostSeconds,
                        [](int rank) {
                          LoadedProcess process(rank, 200, 3);
                          for (int checkpoint = 0; checkpoint < 10; ++checkpoint) {
                            for (int n = 0; n < 80; ++n) process.act();
                            process.host().checkpoint();
                            if (save_process()) {
                              process.host().restart();
                              continue;
                            }
                            process.host().go_on();
                            for (int n = 0; n < 20; ++n) process.act();
                            kill_process();
                          }
                          process.finish();
                        }),
            "");
}

TEST_P(LapiModuleTest, ARestartNeedsACheckpoint) {
  EXPECT_EQ(run_lam_job(1, kMostSeconds,
                        [](int) {
                          ModuleProcess process;
                          try {
                            process.host().restart();
                          } catch (const ssi::SsiError& error) {
                            require(std::string(error.what()) == "rpi module lapi: lsra_restart failed", error.what());
                            return;
                          }
                          throw Failure("a restart without a checkpoint");
                        }),
            "");
}

}  // namespace
}  // namespace openlapi::rpi
