// What a neighbour reaches, and what it does not.
#include "shm/direct/neighbour_memory.h"

#include <fcntl.h>

#include "tests/unit/shm/direct/opened_memory.h"

namespace openlapi::direct {
namespace {

class NeighbourMemoryTest : public testing::Test {
 protected:
  void SetUp() override { owner.gate.open(); }
  bool reaches(std::uint64_t address, std::uint64_t length = 8) {
    return neighbour->reach(address, length, [](std::byte*) {});
  }
  void publish(std::uint64_t begin, std::uint64_t end, std::uint64_t offset) {
    TableEntry& entry = owner.control.header().entries[0];
    entry.begin = begin;
    entry.end = end;
    entry.offset = offset;
    owner.control.header().count = 1;
    ++owner.control.header().additions;
  }

  OpenedMemory owner;
  std::unique_ptr<NeighbourMemory> neighbour = owner.neighbour(0);
};

// In the middle of an operation, whose window is of the file before: a signal handler may come then.
TEST_F(NeighbourMemoryTest, TakesNoOtherFileInTheMiddleOfAVisit) {
  const OpenRange range = owner.open(kRegion);
  ASSERT_TRUE(reaches(range.begin));
  const auto take = [&] { return neighbour->use_file(1, FileDescriptor(dup(owner.file.descriptor())), owner.error); };
  {
    const Entrance::Visit visit(neighbour->entrance());
    std::byte* const bytes = neighbour->find(visit, range.begin, 8);
    ASSERT_NE(bytes, nullptr);
    EXPECT_FALSE(take());
    *bytes = std::byte{7};
  }
  EXPECT_EQ(*reinterpret_cast<const char*>(range.begin), 7);
  EXPECT_TRUE(take());
}

TEST_F(NeighbourMemoryTest, SeesTheOwnersBytes) {
  const OpenRange range = owner.open(3 * kRegion);
  for (const std::uint64_t address : {range.begin, range.begin + kRegion + 8, range.end - 8}) {
    *reinterpret_cast<std::uint64_t*>(address) = address;
    EXPECT_TRUE(neighbour->reach(address, 8, [&](std::byte* bytes) {
      EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(bytes), address);
      *reinterpret_cast<std::uint64_t*>(bytes) = 1;
    }));
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(address), 1u);
  }
}

TEST_F(NeighbourMemoryTest, StaysWithinARangeAndAWindow) {
  const OpenRange range = owner.open(3 * kRegion);
  EXPECT_FALSE(reaches(range.begin - 8));
  EXPECT_TRUE(reaches(range.end - 8));
  EXPECT_FALSE(reaches(range.end - 7));
  EXPECT_FALSE(reaches(range.end));
  EXPECT_FALSE(reaches(range.begin, UINT64_MAX));
  EXPECT_FALSE(reaches(range.begin, 0));
  const std::uint64_t next_window = (range.begin / kRegion + 1) * kRegion;  // of the file, too
  EXPECT_TRUE(reaches(next_window - 8));
  EXPECT_FALSE(reaches(next_window - 4));
  EXPECT_TRUE(reaches(next_window));
}

// As mremap() may have moved it.
TEST_F(NeighbourMemoryTest, ReachesARangeThatIsElsewhereInItsWindow) {
  const OpenRange range = owner.map(2 * kRegion);
  const std::uint64_t shift = 3 * shm::kPage;
  publish(range.begin + shift, range.end + shift, range.offset);
  for (std::uint64_t distance = 0; distance < 2 * kRegion; distance += shm::kPage) {
    ASSERT_TRUE(add_directly(*neighbour, range.begin + shift + distance, 1 + distance));
    ASSERT_EQ(*reinterpret_cast<std::uint64_t*>(range.begin + distance), 1 + distance);
  }
  EXPECT_FALSE(reaches(range.end + shift));
}

TEST_F(NeighbourMemoryTest, FollowsARangeThatGrows) {
  const OpenRange whole = owner.map(4 * shm::kPage);
  const std::uint64_t middle = whole.begin + 2 * shm::kPage;
  const auto lock = owner.table.lock();
  ASSERT_TRUE(owner.table.add({whole.begin, middle, whole.offset}));
  EXPECT_TRUE(reaches(whole.begin));
  EXPECT_FALSE(reaches(middle));
  const std::uint64_t generation = owner.control.header().generation;
  ASSERT_TRUE(owner.table.add({middle, whole.end, whole.offset + 2 * shm::kPage}));
  EXPECT_EQ(owner.table.size(), 1u);
  EXPECT_TRUE(reaches(middle));
  EXPECT_TRUE(reaches(middle - 4));
  EXPECT_EQ(owner.control.header().generation, generation);
}

TEST_F(NeighbourMemoryTest, ForgetsWhatWasDropped) {
  const OpenRange range = owner.open(kRegion);
  EXPECT_TRUE(reaches(range.begin));
  owner.gate.shut();
  EXPECT_FALSE(reaches(range.begin));
  owner.drop(range.begin, range.begin + shm::kPage);
  owner.gate.open();
  EXPECT_FALSE(reaches(range.begin));
  EXPECT_TRUE(reaches(range.begin + shm::kPage));
}

TEST_F(NeighbourMemoryTest, WaitsForTheFileThatTheTableIsOf) {
  const OpenRange range = owner.open(kRegion);
  EXPECT_TRUE(reaches(range.begin));
  owner.gate.close();
  owner.control.header().file = 1;
  owner.gate.open();
  EXPECT_TRUE(neighbour->needs_file());
  EXPECT_FALSE(reaches(range.begin));
  ASSERT_TRUE(neighbour->use_file(1, FileDescriptor(dup(owner.file.descriptor())), owner.error));
  EXPECT_TRUE(reaches(range.begin));
}

TEST_F(NeighbourMemoryTest, BelievesNoEntryThatCannotBe) {
  const OpenRange range = owner.map(kRegion);
  publish(range.begin, range.end, range.offset + kFileSize);
  EXPECT_FALSE(reaches(range.begin));
  publish(range.begin, range.begin + kFileSize, range.offset);
  EXPECT_FALSE(reaches(range.begin));
  publish(range.begin, range.end, range.offset);
  owner.control.header().count = UINT64_MAX;
  EXPECT_TRUE(reaches(range.begin));
  EXPECT_FALSE(reaches(range.begin - 8));
}

TEST_F(NeighbourMemoryTest, RefusesAFileThatCanShrink) {
  FileDescriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), static_cast<off_t>(kFileSize)), 0);
  EXPECT_FALSE(neighbour->use_file(1, std::move(unsealed), owner.error));
  EXPECT_NE(owner.error.find("may change"), std::string::npos) << owner.error;
  EXPECT_FALSE(neighbour->use_file(1, FileDescriptor(open("/dev/null", O_RDONLY)), owner.error));
  EXPECT_NE(owner.error.find("no memory file"), std::string::npos) << owner.error;
}

TEST(DirectFile, CannotBeShrunkByANeighbour) {
  OpenedMemory owner;
  EXPECT_NE(ftruncate(owner.file.descriptor(), 4096), 0);
}

TEST(DirectFile, GivesNoPlaceTwiceAndKeepsHugePagesPossible) {
  OpenedMemory owner;
  std::uint64_t end = 0;
  for (const std::uint64_t begin : {std::uint64_t{kRegion}, std::uint64_t{shm::kPage}, 5 * kRegion + 3 * shm::kPage}) {
    const std::uint64_t offset = owner.file.place(begin, begin + kRegion);
    EXPECT_EQ(offset % kRegion, begin % kRegion);
    EXPECT_GE(offset, end);
    end = offset + kRegion;
  }
  EXPECT_EQ(owner.file.place(0, kPlaceSpacing), 0u) << "nobody else's place is behind it";
}

TEST(ControlMemory, IsAttachedOnlyIfItIsWhole) {
  std::string error;
  const ControlMemory owners = ControlMemory::create(3, error);
  const auto copy = [&] { return FileDescriptor(dup(owners.descriptor())); };
  EXPECT_EQ(ControlMemory::attach(copy(), error).accessors(), 3u);
  owners.header().accessors = 2;
  EXPECT_FALSE(ControlMemory::attach(copy(), error).valid());
  EXPECT_NE(error.find("another build"), std::string::npos) << error;
  owners.header().accessors = 3;
  owners.header().magic = 1;
  EXPECT_FALSE(ControlMemory::attach(copy(), error).valid());
  FileDescriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_FALSE(ControlMemory::attach(FileDescriptor(dup(unsealed.get())), error).valid());
  EXPECT_NE(error.find("change its size"), std::string::npos) << error;
  ASSERT_EQ(fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_FALSE(ControlMemory::attach(std::move(unsealed), error).valid());
  EXPECT_NE(error.find("0 bytes"), std::string::npos) << error;
  EXPECT_FALSE(ControlMemory::attach(FileDescriptor(open("/dev/null", O_RDWR)), error).valid());
}

}  // namespace
}  // namespace openlapi::direct
