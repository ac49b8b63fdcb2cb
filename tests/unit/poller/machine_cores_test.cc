// What the kernel and hwloc say about processors.
#include "dataplane/poller/machine_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace openlapi {
namespace {

TEST(MachineCores, AreThoseOfTheAffinityMask) {
  const std::vector<int> all = allowed_processors();
  ASSERT_FALSE(all.empty());
  std::set<int> found;
  for (const std::vector<int>& core : allowed_cores()) found.insert(core.begin(), core.end());
  EXPECT_EQ(found, std::set<int>(all.begin(), all.end()));
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_processors(), std::vector<int>{all.back()});
  EXPECT_EQ(allowed_cores(), std::vector<std::vector<int>>{{all.back()}});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

class NearDevices : public testing::Test {
 protected:
  NearDevices() {
    std::string pattern = testing::TempDir() + "near_devices_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~NearDevices() override { std::filesystem::remove_all(root_); }
  void add(const std::string& folder, const std::string& mask) {
    std::filesystem::create_directories(root_ + folder);
    std::ofstream(root_ + folder + "/local_cpus") << mask << "\n";
  }

  std::string root_;
};

TEST_F(NearDevices, AreFoundInEveryClass) {
  add("/class/net/eth1/device", "00000000,00000f0f");
  add("/class/infiniband/mlx5_0/device", "f0");
  add("/bus/pci/devices/0000:3b:00.0", "1,00000000");
  EXPECT_EQ(processors_near("eth1", root_), (std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(processors_near("mlx5_0", root_), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(processors_near("0000:3b:00.0", root_), std::vector<int>{32});
}

TEST_F(NearDevices, WithoutAPlaceAreNearNothing) {
  std::filesystem::create_directories(root_ + "/class/net/veth0");
  add("/class/net/eth2/device", "0");
  for (const char* device : {"veth0", "eth2", "none", "", ".", "..", "../net/eth2"}) {
    EXPECT_TRUE(processors_near(device, root_).empty()) << device;
  }
}

TEST_F(NearDevices, AreNoPaths) {
  std::filesystem::create_directories(root_ + "/class/infiniband");
  add("/class/net/eth1/device", "f");
  add("/class/net/.eth1/device", "f");
  ASSERT_FALSE(processors_near("eth1", root_).empty());
  for (const char* path : {"../net/eth1", "./eth1", "eth1/", ".eth1"}) {
    EXPECT_TRUE(processors_near(path, root_).empty()) << path;
  }
}

}  // namespace
}  // namespace openlapi
