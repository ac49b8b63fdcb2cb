// A program with malloc(), free() and memalign() of its own, as LAM's programs have, which are the C library's here.
#include "api/rpi/lapi/aligned_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

extern "C" {

void* __libc_malloc(std::size_t bytes);
void __libc_free(void* place);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* place, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

static std::atomic<unsigned> memaligned;

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept { return __libc_malloc(bytes); }
[[gnu::visibility("default")]] void free(void* place) noexcept { __libc_free(place); }
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* place, std::size_t bytes) noexcept {
  return __libc_realloc(place, bytes);
}
[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) {
  ++memaligned;
  return __libc_memalign(alignment, bytes);
}
}

namespace openlapi::rpi {
namespace {

struct alignas(256) Wide {
  char bytes[256];
};

// How many of the calls inside got their memory from the program's memalign().
template <class Calls>
unsigned led(Calls&& calls) {
  const unsigned before = memaligned;
  calls();
  return memaligned - before;
}

int use(void* library) { return reinterpret_cast<int (*)()>(dlsym(library, "use_memory"))(); }

TEST(AlignedCallsTest, LeadToTheMemoryThatFreeTakesBack) {
  const char* const file = std::getenv("RPI_ALIGNED");
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(led([&] { use(library); }), 0U) << "as it is without help";
  lead_aligned_calls();
  EXPECT_EQ(led([&] { EXPECT_EQ(use(library), 0); }), 2U);
  EXPECT_EQ(led([] { const auto made = std::make_unique<Wide>(); }), 1U) << "libstdc++'s";

  EXPECT_EQ(reinterpret_cast<void* (*)()>(dlsym(library, "used_dlopen"))(), dlsym(RTLD_DEFAULT, "dlopen"))
      << "it looks for libraries where its caller says";
  void* const next =
      reinterpret_cast<void* (*)(const char*)>(dlsym(library, "load_library"))(std::getenv("RPI_ALIGNED_LATER"));
  ASSERT_NE(next, nullptr);
  lead_aligned_calls();
  EXPECT_EQ(led([&] { EXPECT_EQ(use(next), 0); }), 2U) << "one that is loaded later";
}

// Its free() is the C library's, as its posix_memalign() is.
TEST(AlignedCallsTest, AreLeftAloneWhereFreeIsAnotherOne) {
  void* const library = dlopen(std::getenv("RPI_ALIGNED_DEEP"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  ASSERT_NE(library, nullptr) << dlerror();
  lead_aligned_calls();
  EXPECT_EQ(led([&] { EXPECT_EQ(use(library), 0); }), 0U);
}

TEST(AlignedCallsTest, AreLedBeforeTheyAreBound) {
  void* const library = dlopen(std::getenv("RPI_ALIGNED_LAZY"), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  lead_aligned_calls();
  EXPECT_EQ(led([&] { EXPECT_EQ(use(library), 0); }), 2U);
}

// The linker's locks are taken in its own order.
TEST(AlignedCallsTest, MayBeLedWhileAnotherThreadLoadsLibraries) {
  std::atomic<bool> is_done{false};
  std::thread loading([&] {
    const char* const file = std::getenv("RPI_ALIGNED_PASSING");
    while (!is_done) {
      void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr || dlclose(library) != 0) return;
    }
  });
  for (int turn = 0; turn < 3000; ++turn) lead_aligned_calls();
  is_done = true;
  loading.join();
}

TEST(AlignedCallsTest, RefuseWhatTheCLibraryRefuses) {
  lead_aligned_calls();
  void* place = nullptr;
  volatile std::size_t odd = 24, small = sizeof(void*) / 2, all = SIZE_MAX / 2 + 2;
  errno = 7;
  EXPECT_EQ(posix_memalign(&place, odd, 10), EINVAL);
  EXPECT_EQ(posix_memalign(&place, small, 10), EINVAL);
  EXPECT_EQ(posix_memalign(&place, 64, all), ENOMEM);
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(place, nullptr);
}

}  // namespace
}  // namespace openlapi::rpi
