// Direct access between tasks of one process: a test says what can be reached, and sees what was asked for.
#pragma once

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "dataplane/transport/direct_memory.h"

namespace openlapi {

class ScriptedDirectMemory final : public DirectMemory {
 public:
  // What a test sets.
  bool reaches = true;
  bool in_use = false;  // what is_in_use() says next
  bool moved = false;  // what counters_have_moved() says next
  Traffic done{};

  // What it sees.
  unsigned puts = 0, gets = 0, changes = 0;
  std::vector<std::uint64_t> asked{};         // addresses
  std::vector<std::uint64_t> asked_pieces{};  // their addresses
  bool counters_are_left = true;

  bool put(PeerIndex, std::uint64_t address, const void* data, std::size_t length, std::uint64_t counter) override {
    if (!reaches) return false;
    ++puts;
    std::memcpy(at(address), data, length);
    count(counter);
    return true;
  }
  bool get(PeerIndex, std::uint64_t address, void* buffer, std::size_t length, std::uint64_t counter) override {
    if (!reaches) return false;
    ++gets;
    std::memcpy(buffer, at(address), length);
    count(counter);
    return true;
  }
  bool put_pieces(PeerIndex, Pieces pieces, const std::byte* data, std::uint64_t counter) override {
    if (!reaches) return false;
    ++puts;
    for (const MemoryRange& piece : pieces) {
      std::memcpy(at(piece.address), data, piece.length);
      data += piece.length;
    }
    count(counter);
    return true;
  }
  bool get_pieces(PeerIndex, Pieces pieces, std::byte* buffer, std::uint64_t counter) override {
    if (!reaches) return false;
    ++gets;
    for (const MemoryRange& piece : pieces) {
      std::memcpy(buffer, at(piece.address), piece.length);
      buffer += piece.length;
    }
    count(counter);
    return true;
  }
  bool change(PeerIndex, std::uint64_t address, std::size_t, ChangeWord change, void* operands) override {
    if (!reaches) return false;
    ++changes;
    change(at(address), operands);
    return true;
  }
  bool is_in_use(PeerIndex) override { return std::exchange(in_use, false); }
  void asked_for(std::uint64_t address) override { asked.push_back(address); }
  void asked_for_pieces(Pieces pieces) override {
    for (const MemoryRange& piece : pieces) asked_pieces.push_back(piece.address);
  }
  bool counters_have_moved() override { return std::exchange(moved, false); }
  void leave_counters_to_peers(bool on) override { counters_are_left = on; }
  Traffic traffic() const override { return done; }

 private:
  static void* at(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
  static void count(std::uint64_t counter) {
    if (counter != 0) std::atomic_ref(*static_cast<int*>(at(counter))).fetch_add(1);
  }
};

}  // namespace openlapi
