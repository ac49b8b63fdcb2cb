// Messages between threads that are processes of a meeting.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/rpi/lapi/process_messages.h"

namespace openlapi::rpi {

// Carries messages between threads.
class Post {
 public:
  void send(std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes) {
    const std::scoped_lock turn(mutex_);
    boxes_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  // Of a process that sends nothing more: false.
  bool receive(std::uint32_t from, std::uint32_t to, std::vector<std::byte>& bytes) {
    std::unique_lock turn(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(turn, [&] { return !box.empty() || dead_[from]; });
    if (box.empty()) return false;
    bytes = std::move(box.front());
    box.pop_front();
    return true;
  }
  void die(std::uint32_t process) {
    const std::scoped_lock turn(mutex_);
    dead_[process] = true;
    arrived_.notify_all();
  }

  bool has(std::uint32_t from, std::uint32_t to) {
    const std::lock_guard lock(mutex_);
    return !boxes_[{from, to}].empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>> boxes_;
  std::map<std::uint32_t, bool> dead_;
};

class PostedMessages : public ProcessMessages {
 public:
  PostedMessages(Post& post, std::uint32_t rank, std::uint32_t size, std::uint64_t identity = 7)
      : post_(post), rank_(rank), size_(size), identity_(identity), near_{rank} {}

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  const std::vector<std::uint32_t>& on_this_node() const override { return near_; }
  std::uint64_t identity() const override { return identity_; }
  bool send(std::uint32_t to, std::span<const std::byte> bytes, std::string&) override {
    post_.send(rank_, to, bytes);
    return true;
  }
  bool has_message(std::uint32_t from) override { return post_.has(from, rank_); }
  bool has_died(std::uint32_t) const override { return false; }
  bool receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) override {
    if (post_.receive(from, rank_, bytes)) return true;
    error = "process " + std::to_string(from) + " has ended";
    return false;
  }

 private:
  Post& post_;
  const std::uint32_t rank_, size_;
  const std::uint64_t identity_;
  const std::vector<std::uint32_t> near_;
};

}  // namespace openlapi::rpi
