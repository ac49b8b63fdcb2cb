#include "nic/verbs/memory_kind.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace openlapi::verbs {
namespace {

bool covered(std::uint64_t begin, std::uint64_t end, std::initializer_list<const char*> lines) {
  PrivateMemoryScan scan(begin, end);
  for (const char* line : lines) scan.take(parse_mapping(line).value());
  return scan.covered();
}

constexpr const char* kBefore = "00001000-00002000 r-xp 00000000 fe:01 1234      /usr/bin/program";
constexpr const char* kHeap = "00002000-00004000 rw-p 00000000 00:00 0         [heap]";
constexpr const char* kNext = "00004000-00006000 rw-p 00000000 00:00 0 ";
constexpr const char* kShared = "00006000-00008000 rw-s 00000000 00:01 1057     /dev/zero (deleted)";
constexpr const char* kFirstSegment = "00008000-00009000 rw-s 00000000 00:01 0        /SYSV00000000 (deleted)";
constexpr const char* kPrivateFile = "00009000-0000a000 rw-p 00000000 00:01 1058     /memfd:x (deleted)";
constexpr const char* kAfterHole = "0000b000-0000c000 rw-p 00000000 00:00 0 ";

TEST(MemoryKind, PrivateMemoryOfNoFileIsFoundInTheList) {
  EXPECT_TRUE(covered(0x2000, 0x4000, {kBefore, kHeap, kNext}));
  EXPECT_TRUE(covered(0x3000, 0x5000, {kBefore, kHeap, kNext, kShared}));
  EXPECT_FALSE(covered(0x1000, 0x3000, {kBefore, kHeap, kNext})) << "begins in a file";
  EXPECT_FALSE(covered(0x5000, 0x7000, {kBefore, kHeap, kNext, kShared})) << "ends in shared memory";
  EXPECT_FALSE(covered(0x8000, 0x9000, {kNext, kFirstSegment, kPrivateFile})) << "shared, though its number is 0";
  EXPECT_FALSE(covered(0x9000, 0xa000, {kFirstSegment, kPrivateFile, kAfterHole})) << "of a file, though private";
  EXPECT_FALSE(covered(0xa000, 0xc000, {kPrivateFile, kAfterHole})) << "begins in a hole";
  EXPECT_FALSE(covered(0xb000, 0xd000, {kPrivateFile, kAfterHole})) << "ends in a hole";
  EXPECT_FALSE(covered(0x2000, 0x4000, {}));
}

TEST(MemoryKind, ThisProcessIsAsked) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto map = [&](int flags, int file) {
    void* const memory = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, flags, file, 0);
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
  };
  const int file = memfd_create("kind", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(4 * page)), 0);
  const std::uint64_t own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1), shared = map(MAP_SHARED | MAP_ANONYMOUS, -1),
                      copied = map(MAP_PRIVATE, file);
  EXPECT_TRUE(is_private_anonymous(own, own + 4 * page));
  EXPECT_FALSE(is_private_anonymous(shared, shared + 4 * page));
  EXPECT_FALSE(is_private_anonymous(copied, copied + page));
  ASSERT_EQ(munmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(own + page)), page), 0);
  EXPECT_FALSE(is_private_anonymous(own, own + 4 * page));
  EXPECT_TRUE(is_private_anonymous(own + 2 * page, own + 4 * page));
  close(file);
}

}  // namespace
}  // namespace openlapi::verbs
