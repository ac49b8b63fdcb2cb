// The numbers that processes have inside their containers, which are others than here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace openlapi {

class ContainerNumbers {
 public:
  explicit ContainerNumbers(std::filesystem::path processes = "/proc") : processes_(std::move(processes)) {}

  // All processes are looked at once, at the first call.
  bool contains(std::uint32_t number);

 private:
  std::filesystem::path processes_;
  std::optional<std::set<std::uint32_t>> numbers_{};
};

}  // namespace openlapi
