// What lapi_perf tells perftest, and what it takes from its output.
#include <gtest/gtest.h>

#include "bench/perf/rdma_floor.h"

namespace openlapi::bench {
namespace {

TEST(RdmaFloor, TheDeviceOfMpEuidevice) {
  EXPECT_EQ(perftest_device("mlx5_0"), " -d mlx5_0");
  EXPECT_EQ(perftest_device("mlx5_0:1"), " -d mlx5_0 -i 1");
  EXPECT_EQ(perftest_device("rxe1:1:3"), " -d rxe1 -i 1 -x 3");
  EXPECT_EQ(perftest_device(""), "");
  EXPECT_EQ(perftest_device("sn_all"), "") << "no single device";
}

// In the form that perftest prints.
TEST(RdmaFloor, LatencyIsTheTypicalOne) {
  const char* const output =
      "---------------------------------------------------------------------------------------\n"
      "                    Send Latency Test\n"
      " Dual-port       : OFF\t\tDevice         : rxe0\n"
      " local address: LID 0000 QPN 0x0011 PSN 0x6ab6c4\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]\n"
      " 8       1000          10.50          210.33       12.25            13.01            2.50\t\t20.00\t\t 30.00\n"
      "---------------------------------------------------------------------------------------\n";
  EXPECT_DOUBLE_EQ(perftest_figure(output, 4), 12.25);
}

TEST(RdmaFloor, BandwidthIsTheAverage) {
  const char* const output =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 1048576    64             900.10             850.40               0.000850\n";
  EXPECT_DOUBLE_EQ(perftest_figure(output, 3), 850.40);
}

TEST(RdmaFloor, NoFiguresAreZero) {
  EXPECT_EQ(perftest_figure("", 4), 0);
  EXPECT_EQ(perftest_figure("Couldn't connect to 127.0.0.1:19000\n", 3), 0);
}

}  // namespace
}  // namespace openlapi::bench
