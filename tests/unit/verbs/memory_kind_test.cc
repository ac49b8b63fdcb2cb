#include "nic/verbs/memory_kind.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace openlapi::verbs {
namespace {

const dev_t kProgramDevice = makedev(0xfe, 1);

bool covered(std::uint64_t begin, std::uint64_t end, std::initializer_list<const char*> lines) {
  WatchableMemoryScan scan(begin, end, {kProgramDevice, 1234, "/usr/bin/program"}, AdapterMemory::of_process());
  for (const char* line : lines) scan.take(parse_mapping(line).value());
  return scan.covered();
}

constexpr const char* kBefore = "00001000-00002000 r-xp 00000000 fe:01 1235      /usr/lib/library";
constexpr const char* kHeap = "00002000-00004000 rw-p 00000000 00:00 0         [heap]";
constexpr const char* kNext = "00004000-00006000 rw-p 00000000 00:00 0 ";
constexpr const char* kShared = "00006000-00008000 rw-s 00000000 00:01 1057     /dev/zero (deleted)";
constexpr const char* kFirstSegment = "00008000-00009000 rw-s 00000000 00:01 0        /SYSV00000000 (deleted)";
constexpr const char* kPrivateFile = "00009000-0000a000 rw-p 00000000 00:01 1058     /memfd:x (deleted)";
constexpr const char* kAfterHole = "0000b000-0000c000 rw-p 00000000 00:00 0 ";

constexpr const char* kData = "00010000-00011000 rw-p 00003000 fe:01 1234      /usr/bin/program";
constexpr const char* kZeroes = "00011000-00012000 rw-p 00000000 00:00 0 ";
constexpr const char* kSameNumber = "00012000-00013000 rw-p 00003000 fe:02 1234      /mnt/other";
constexpr const char* kOtherPath = "00014000-00015000 rw-p 00003000 fe:01 1234      /usr/bin/other";
constexpr const char* kSharedProgram = "00013000-00014000 rw-s 00003000 fe:01 1234      /usr/bin/program";

constexpr const char* kHuge = "00200000-00800000 rw-p 00000000 00:0f 10562      /anon_hugepage (deleted)";
constexpr const char* kOther = "00800000-00900000 rw-p 00000000 00:00 0 ";
constexpr const char* kMounted = "00a00000-00c00000 rw-p 00000000 00:0f 10563      /mnt/anon_hugepage (deleted)";
constexpr const char* kSharedHuge = "00c00000-00e00000 rw-s 00000000 00:0f 10564      /anon_hugepage (deleted)";

TEST(MemoryKind, HugePagesAreNotKept) {
  const auto lines = {kHuge, kOther, kMounted, kSharedHuge};
  EXPECT_FALSE(covered(0x201000, 0x202000, lines)) << "while they are pinned a fork needs as many free ones";
  EXPECT_FALSE(covered(0x7ff000, 0x801000, lines));
  EXPECT_TRUE(covered(0x800000, 0x801000, lines)) << "beside it";
  EXPECT_FALSE(covered(0xa00000, 0xa01000, lines));
  EXPECT_FALSE(covered(0xc00000, 0xc01000, lines));
}

TEST(MemoryKind, OfFilesOnlyTheProgramsVariables) {
  const auto lines = {kData, kZeroes, kSameNumber, kSharedProgram};
  EXPECT_TRUE(covered(0x10000, 0x11000, lines));
  EXPECT_TRUE(covered(0x10000, 0x12000, lines));
  EXPECT_FALSE(covered(0x12000, 0x13000, lines)) << "of another file system";
  EXPECT_FALSE(covered(0x13000, 0x14000, lines)) << "not variables";
  EXPECT_FALSE(covered(0x14000, 0x15000, {kOtherPath})) << "a file system without numbers of its own";
}

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
  const FileIdentity program = program_file();
  EXPECT_NE(program.inode, 0u);
  const auto known = [&](std::uint64_t begin, std::uint64_t end) {
    return scan_memory({begin, end}, program, AdapterMemory::of_process()).covered();
  };
  EXPECT_TRUE(known(own, own + 4 * page));
  EXPECT_FALSE(known(shared, shared + 4 * page));
  EXPECT_FALSE(known(copied, copied + page));
  ASSERT_EQ(munmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(own + page)), page), 0);
  EXPECT_FALSE(known(own, own + 4 * page));
  EXPECT_TRUE(known(own + 2 * page, own + 4 * page));
  static int variable = 1;
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(&variable) / page * page;
  EXPECT_TRUE(known(place, place + page));
  close(file);
}

}  // namespace
}  // namespace openlapi::verbs
