// What a user says about a device: pure functions on that text.
//
// A device is a PCI address ("0000:3b:00.0"), a virtual device with its arguments
// ("net_memif0,role=server,id=0,socket=/run/job/pair"), or the name of one that EAL's arguments have made.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace openlapi::dpdk {

std::string_view name_of(std::string_view device);  // everything before the first comma
bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings);
bool is_virtual(std::string_view device);          // by its name: net_..., eth_...
bool is_memif(std::string_view device);
bool is_memif_client(std::string_view arguments);  // of a memif device: it is a client unless it says role=server
bool has_argument(std::string_view device, std::string_view key);
std::string argument_of(std::string_view device, std::string_view key);  // empty: it is not given

// The longest IP packet that a device can carry, as far as its text tells: limited by the driver's own buffers, and by
// the MTU of the kernel's interface if it works on one (0: it does not). Returns 0 when only the driver knows. `made`:
// the device exists with exactly these arguments; otherwise completed() adds what is missing.
std::uint32_t mtu_of(std::string_view device, std::uint32_t interface_mtu, bool made);

// The longest IP packet of a port whose driver tells what it can do.
struct MtuFacts {
  std::uint32_t wanted = 0;  // 0: nothing in particular
  std::uint32_t least = 0;   // of the driver
  std::uint32_t most = 65535;
  std::uint32_t kernel = 0;  // of the kernel's interface on a shared port, which stays as it is; 0: it is not shared
};
std::uint32_t mtu_of_port(const MtuFacts& facts);

// Adds what drivers need for frames of this MTU unless the user has said it: memif's buffer size, af_packet's frame
// size. `kernel_driver`: of an adapter on PCI. mlx5 puts short frames into the descriptor, which saves the adapter a
// read, only where there are eight queues or more, unless it is told otherwise.
std::string completed(std::string_view device, std::uint32_t mtu, std::string_view kernel_driver = {});

std::vector<std::string> split_words(std::string_view text);  // at spaces

// The devices that EAL's arguments name (--vdev, -a, --allow), with their arguments.
std::vector<std::string> named_devices(const std::vector<std::string>& words);

// The device that a task's `instance`-th context uses in place of this memif: another interface on the same socket. The
// first context uses the device itself.
std::string memif_of_instance(std::string_view device, std::uint32_t instance);

// Whether a user's arguments say which pages EAL takes. -m and --socket-mem only say how much.
bool decides_pages(const std::vector<std::string>& users);

// EAL's arguments for this process: the user's, completed with defaults for what they leave open.
struct EnvironmentFacts {
  bool huge_pages_suffice = false;
  std::uint64_t needed_bytes = 0;  // for packets and queues
  unsigned processor = 0;          // one that this process may use
  std::string unique_name;         // shared with no other process
};
std::vector<std::string> eal_arguments(const std::vector<std::string>& users, const EnvironmentFacts& facts);

}  // namespace openlapi::dpdk
