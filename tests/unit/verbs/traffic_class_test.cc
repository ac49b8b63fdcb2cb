#include "nic/verbs/traffic_class.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace openlapi::verbs {
namespace {

class TrafficClass : public testing::Test {
 protected:
  TrafficClass() {
    char name[] = "/tmp/traffic_class.XXXXXX";
    root_ = mkdtemp(name);
  }
  ~TrafficClass() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  unsigned read(Fabric fabric = Fabric::roce_v2) const { return system_traffic_class("mlx5_1", 2, fabric, root_); }

  std::string root_;
  const std::string driver_ = "/sys/class/infiniband/mlx5_1/tc/2/traffic_class";
  const std::string manager_ = "/sys/kernel/config/rdma_cm/mlx5_1/ports/2/default_roce_tos";
};

TEST_F(TrafficClass, IsTheUsualOneWhereTheSystemSaysNothing) {
  EXPECT_EQ(read(), 106u);
  write(manager_, "0\n");
  EXPECT_EQ(read(), 106u) << "nobody has set it";
  write(driver_, "Per-flow tclass=3\nGlobal tclass=nothing\n");
  EXPECT_EQ(read(), 106u);
}

TEST_F(TrafficClass, IsWhatTheSystemIsSetTo) {
  write(manager_, "160\n");
  EXPECT_EQ(read(), 160u);
  write(driver_, "tclass=8,src_ip=1.1.1.1\nGlobal tclass=96\n");
  EXPECT_EQ(read(), 96u) << "the driver's own setting counts first";
}

TEST_F(TrafficClass, IsZeroButOverRoceV2) {
  write(manager_, "160\n");
  EXPECT_EQ(read(Fabric::roce_v1), 0u);
  EXPECT_EQ(read(Fabric::infiniband), 0u);
}

}  // namespace
}  // namespace openlapi::verbs
