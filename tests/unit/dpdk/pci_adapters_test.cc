#include "nic/dpdk/pci_adapters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/control/temporary_folder.h"

namespace openlapi::dpdk {
namespace {

namespace fs = std::filesystem;

// A folder like /sys/bus/pci/devices.
class PciFolder : public testing::Test {
 protected:
  PciFolder() {
    fs::create_directories(root_ / "drivers");
    fs::create_directories(devices());
  }

  fs::path devices() const { return root_ / "devices"; }

  void add(const std::string& address, const std::string& kind, const std::string& driver,
           const std::string& interface = "") {
    const fs::path device = devices() / address;
    fs::create_directories(device);
    std::ofstream(device / "class") << kind << "\n";
    if (!driver.empty()) {
      fs::create_directories(root_ / "drivers" / driver);
      fs::create_directory_symlink(root_ / "drivers" / driver, device / "driver");
    }
    if (!interface.empty()) fs::create_directories(device / interface);
  }

  std::vector<PciAdapter> list() const { return list_pci_adapters(devices()); }

 private:
  const test::TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(PciFolder, EthernetAdaptersInTheOrderOfTheirAddresses) {
  add("0000:af:00.1", "0x020000", "vfio-pci");
  add("0000:3b:00.0", "0x020000", "mlx5_core", "net/ens1");
  add("0000:00:02.0", "0x030000", "vfio-pci");  // a display
  add("0000:00:03.0", "0x020000", "virtio-pci", "virtio0/net/eth0");
  add("0000:00:04.0", "0x020000", "");
  const std::vector<PciAdapter> found = list();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].address, "0000:00:03.0");
  EXPECT_EQ(found[0].interface, "eth0");
  EXPECT_FALSE(found[0].given() || found[0].shared());
  EXPECT_EQ(found[1].driver, "");
  EXPECT_FALSE(found[1].given() || found[1].shared());
  EXPECT_EQ(found[2].interface, "ens1");
  EXPECT_TRUE(found[2].shared() && !found[2].given());
  EXPECT_TRUE(found[3].given() && !found[3].shared());
}

TEST_F(PciFolder, WhichAreGivenToPrograms) {
  add("0000:af:00.1", "0x020000", "vfio-pci");
  add("0000:3b:00.0", "0x020000", "mlx5_core", "net/ens1");
  add("0000:00:04.0", "0x020000", "");
  EXPECT_TRUE(is_given("0000:af:00.1", list()));
  EXPECT_TRUE(is_given("af:00.1", list()));
  for (const char* other : {"0000:3b:00.0", "0000:00:04.0", "0000:00:05.0", "net_memif0", ""}) {
    EXPECT_FALSE(is_given(other, list())) << other;
  }
}

TEST_F(PciFolder, MayBeMissing) { EXPECT_TRUE(list_pci_adapters(devices() / "nowhere").empty()); }

TEST(PciAddress, WithAndWithoutItsDomain) {
  EXPECT_EQ(pci_address("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pci_address("3B:1f.7"), "0000:3b:1f.7");
  EXPECT_EQ(pci_address("10001:3b:00.0"), "");
  for (const char* wrong : {"", "3b", "3b:00", "3b:00.", "3b:00.8", "3b:20.0", "0000:3b:00.0x", "rxe0:1:3", "eth0"}) {
    EXPECT_EQ(pci_address(wrong), "") << wrong;
  }
}

// A program with the set-user-ID bit opens files as its owner.
TEST_F(PciFolder, WhoOpensTheGroupIsTheEffectiveUser) {
  if (getuid() != 0) GTEST_SKIP() << "only root may become another user";
  add("0000:af:00.0", "0x020000", "vfio-pci");
  const fs::path groups = devices() / ".." / "vfio", group = devices() / ".." / "groups" / "40";
  fs::create_directories(groups);
  fs::create_directories(group);
  fs::create_directory_symlink(group, devices() / "0000:af:00.0" / "iommu_group");
  std::ofstream(groups / "40") << "a file of root";
  fs::permissions(groups / "40", fs::perms::owner_read | fs::perms::owner_write);
  for (const fs::path& folder : {devices() / "..", devices(), groups}) fs::permissions(folder, fs::perms(0755));
  EXPECT_EQ(list_pci_adapters(devices(), groups).at(0).lacks, "");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(seteuid(kNobody), 0);
  const std::vector<PciAdapter> adapters = list_pci_adapters(devices(), groups);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(adapters.size(), 1u);
  EXPECT_EQ(adapters[0].lacks, "this task may not open " + (groups / "40").string() + ": Permission denied");
}

TEST_F(PciFolder, AnAdapterWhoseGroupMayNotBeOpenedLacksThat) {
  add("0000:af:00.0", "0x020000", "vfio-pci");
  add("0000:af:00.1", "0x020000", "vfio-pci");
  add("0000:af:00.2", "0x020000", "vfio-pci");
  for (const char* number : {"0", "1", "2"}) {
    const fs::path group = devices() / ".." / "groups" / ("4" + std::string(number));
    fs::create_directories(group);
    fs::create_directory_symlink(group, devices() / ("0000:af:00." + std::string(number)) / "iommu_group");
  }
  const fs::path groups = devices() / ".." / "vfio";
  fs::create_directories(groups);
  std::ofstream(groups / "41") << "a file that can be opened";
  std::ofstream(groups / "noiommu-42") << "another one";
  const std::vector<PciAdapter> adapters = list_pci_adapters(devices(), groups);
  ASSERT_EQ(adapters.size(), 3u);
  EXPECT_EQ(adapters[0].lacks, "this task may not open " + (groups / "40").string() + ": No such file or directory");
  EXPECT_EQ(adapters[1].lacks, "");
  EXPECT_EQ(adapters[2].lacks, "");
}

}  // namespace
}  // namespace openlapi::dpdk
