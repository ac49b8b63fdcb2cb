#include "nic/verbs/interface_vlan.h"

#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::verbs {

std::uint16_t vlan_of_interface(unsigned index) {
  if (access("/proc/net/vlan", F_OK) != 0) return 0;  // the question would make the kernel load its module for VLANs
  char name[IF_NAMESIZE] = {};
  if (index == 0 || if_indextoname(index, name) == nullptr) return 0;
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  vlan_ioctl_args question{};
  question.cmd = GET_VLAN_VID_CMD;
  static_assert(sizeof question.device1 >= sizeof name);
  std::memcpy(question.device1, name, sizeof name);
  if (!socket.is_open() || ioctl(socket.get(), SIOCGIFVLAN, &question) != 0) return 0;
  return static_cast<std::uint16_t>(std::clamp(question.u.VID, 0, 0xfff));
}

}  // namespace openlapi::verbs
