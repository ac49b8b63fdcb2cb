#include "nic/verbs/interface_vlan.h"

#include <gtest/gtest.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string_view>

namespace {

bool kernel_has_vlans = false;
int questions = 0;

}  // namespace

// What is asked of the kernel, in the place of the C library's functions.
extern "C" {

int access(const char* path, int) noexcept {
  if (std::string_view(path) == "/proc/net/vlan" && kernel_has_vlans) return 0;
  errno = ENOENT;
  return -1;
}

int ioctl(int, unsigned long request, ...) noexcept {
  if (request != SIOCGIFVLAN) return errno = ENOTTY, -1;
  ++questions;
  va_list rest;
  va_start(rest, request);
  va_arg(rest, vlan_ioctl_args*)->u.VID = 5;
  va_end(rest);
  return 0;
}

}  // extern "C"

namespace openlapi::verbs {
namespace {

constexpr unsigned kLoopback = 1;

// The kernel would load its module for VLANs for the question alone.
TEST(InterfaceVlan, IsAskedForWhereTheKernelHasVlansOnly) {
  kernel_has_vlans = false;
  EXPECT_EQ(vlan_of_interface(kLoopback), 0);
  EXPECT_EQ(questions, 0);
  kernel_has_vlans = true;
  EXPECT_EQ(vlan_of_interface(kLoopback), 5);
  EXPECT_EQ(questions, 1);
  EXPECT_EQ(vlan_of_interface(0), 0);
  EXPECT_EQ(questions, 1);
}

}  // namespace
}  // namespace openlapi::verbs
