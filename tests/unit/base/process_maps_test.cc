#include "dataplane/base/process_maps.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <vector>

namespace openlapi {
namespace {

TEST(ProcessMaps, ReadsALine) {
  const auto file = parse_mapping("7f12a000-7f12c000 r-xp 00003000 fd:01 1572871                   /usr/lib/a b.so");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->begin, 0x7f12a000u);
  EXPECT_EQ(file->end, 0x7f12c000u);
  EXPECT_EQ(file->offset, 0x3000u);
  EXPECT_TRUE(file->readable && !file->writable && file->executable && !file->shared);
  EXPECT_EQ(file->device, makedev(0xfd, 1));
  EXPECT_EQ(file->inode, 1572871u);
  EXPECT_EQ(file->name, "/usr/lib/a b.so");
  EXPECT_TRUE(file->contains(0x7f12a000) && file->contains(0x7f12bfff) && !file->contains(0x7f12c000));

  const auto anonymous = parse_mapping("7ffc0000-7ffc1000 -w-s 00000000 00:00 0 ");
  ASSERT_TRUE(anonymous);
  EXPECT_TRUE(!anonymous->readable && anonymous->writable && anonymous->shared);
  EXPECT_EQ(anonymous->inode, 0u);
  EXPECT_EQ(anonymous->name, "");
  EXPECT_EQ(parse_mapping("7ffc0000-7ffc1000 rw-p 00000000 00:00 0")->name, "");
}

TEST(ProcessMaps, RefusesWhatIsNoLine) {
  for (const char* line : {"", "x-1 rw-p 0 0:0 0", "1-x rw-p 0 0:0 0", "1-2 rw 0 0:0 0", "1-2 rw-p x 0:0 0",
                           "1-2 rw-p 0 x:0 0", "1-2 rw-p 0 0:x 0", "1-2 rw-p 0 0:0 x", "1-2 rw-p 0 0:"}) {
    EXPECT_FALSE(parse_mapping(line)) << line;
  }
}

// More mappings than one read brings.
TEST(ProcessMaps, FindsEachMappingOnce) {
  constexpr std::size_t kMany = 500, kPage = 4096;
  auto* const memory = static_cast<char*>(
      mmap(nullptr, 2 * kMany * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < kMany; ++i) mprotect(memory + 2 * i * kPage, kPage, PROT_READ | PROT_WRITE);
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(memory);
  std::size_t found = 0;
  std::uint64_t before = 0;
  EXPECT_TRUE(each_mapping([&](const Mapping& mapping) {
    EXPECT_GE(mapping.begin, before);
    before = mapping.end;
    if (mapping.begin >= begin && mapping.begin < begin + 2 * kMany * kPage && mapping.writable) ++found;
    return true;
  }));
  EXPECT_EQ(found, kMany);
  munmap(memory, 2 * kMany * kPage);
}

TEST(ProcessMaps, StopsWhenToldTo) {
  int visits = 0;
  EXPECT_TRUE(each_mapping([&](const Mapping&) { return ++visits < 3; }));
  EXPECT_EQ(visits, 3);
}

}  // namespace
}  // namespace openlapi
