// Messages whose data comes in atoms: however they go, and whatever stands before the data, no packet ends inside of
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Hands data on as a program with CONTROL does: it must come in whole atoms, up to the end of the message.
class AtomCursor final : public LayoutCursor {
 public:
  AtomCursor(std::byte* memory, std::uint64_t total, std::uint32_t atom)
      : LayoutCursor(total), memory_(memory), atom_(atom) {}
  void seek(std::uint64_t position) override { position_ = position; }
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override {
    pieces[0] = {address(memory_ + position_), std::min(bytes, bytes_left())};
    position_ += pieces[0].length;
    return pieces[0].length != 0;
  }
  void scatter(const std::byte* from, std::uint64_t bytes) override {
    EXPECT_EQ(position_ % atom_, 0u);
    EXPECT_TRUE(bytes % atom_ == 0 || bytes == bytes_left()) << bytes << " at " << position_;
    std::copy_n(from, bytes, memory_ + position_);
    position_ += bytes;
  }
  bool only_copies() const override { return false; }
  std::uint64_t piece_count() const override { return 1; }
  std::unique_ptr<LayoutCursor> clone() const override {
    return std::make_unique<AtomCursor>(memory_, total_bytes_, atom_);
  }
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  std::byte* memory_;
  std::uint64_t atom_;
};

// However a message goes, the header handler is told whether it is in atoms, and then no packet cuts one: also what had
// to wait, copied, and what could not be read from the origin's memory.
TEST(Atoms, AreNotCut) {
  for (const std::uint64_t total : {24u, 3000u, 48'000u}) {
    for (const std::uint32_t atom : {0u, 24u}) {
      for (const PeerIndex target : {0u, 1u}) {
        for (const bool readable : {false, true}) {
          for (const bool refused_first : {false, true}) {
            Job job(2, small_copies());
            job.task(1).transport.set_room(2);
            if (readable) job.task(0).transport.make_readable(), job.task(1).transport.make_readable();
            job.start();
            std::vector<std::byte> from(total), to(total);
            for (std::size_t i = 0; i < total; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
            bool refuse = refused_first;
            int told = 0;
            job.task(target).host.on_header = [&](const ArrivedMessage& message) {
              ++told;
              EXPECT_EQ(message.in_atoms, atom != 0);
              HeaderVerdict verdict;
              verdict.delivery = refuse ? Delivery::drop : Delivery::deliver;
              refuse = false;
              verdict.layout = std::make_unique<AtomCursor>(to.data(), total, atom != 0 ? atom : 1);
              return verdict;
            };
            StridedCursor source(address(from.data()), total, atom);
            ASSERT_EQ(job[0].layout_message({target, 5, nullptr, 0, &source, false, 0, 0, 0}), Submit::accepted);
            job.settle();
            job.clock.advance(kSecond);
            job.settle();
            EXPECT_TRUE(from == to) << total << " bytes to " << target;
            EXPECT_EQ(told, refused_first ? 2 : 1);
          }
        }
      }
    }
  }
}

// The user header is in the first packet, all of it: what it leaves there may be less than an atom. Lengths around
// which a packet gets full, and a message that would be nearly one packet.
TEST(Atoms, AreNotCutBehindALongUserHeader) {
  for (const std::uint32_t atom : {8u, 24u, 64u}) {
    for (const std::uint64_t atoms : {1u, 2u, 3u, 100u}) {
      Job job(2, small_copies());
      job.start();
      const std::uint64_t total = atom * atoms;
      std::vector<std::byte> from(total), header(job[0].sizes().user_header);
      for (std::size_t i = 0; i < total; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
      for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(i * 5);
      for (std::uint32_t shorter = 0; shorter <= 2 * atom; shorter += 4) {
        const std::uint32_t length = job[0].sizes().user_header - shorter;
        std::vector<std::byte> to(total);
        job.task(1).host.on_header = [&](const ArrivedMessage& message) {
          EXPECT_EQ(message.user_header_length, length);
          EXPECT_TRUE(
              std::equal(header.begin(), header.begin() + length, static_cast<std::byte*>(message.user_header)));
          HeaderVerdict verdict;
          verdict.layout = std::make_unique<AtomCursor>(to.data(), total, atom);
          return verdict;
        };
        StridedCursor source(address(from.data()), total, atom);
        ASSERT_EQ(job[0].layout_message({1, 5, header.data(), length, &source, false, 0, 0, 0}), Submit::accepted);
        job.settle();
        EXPECT_TRUE(from == to) << atoms << " atoms of " << atom << " bytes behind " << length;
      }
    }
  }
}

// Memory in pieces that no atom fits, one behind the other.
class ShortPieces final : public LayoutCursor {
 public:
  ShortPieces(const std::vector<std::byte>& memory, std::uint32_t atom)
      : LayoutCursor(memory.size()), memory_(memory.data()), atom_(atom) {}
  void seek(std::uint64_t position) override { position_ = position; }
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override {
    bytes = std::min(bytes, bytes_left());
    std::size_t count = 0;
    for (; count < pieces.size() && bytes != 0; ++count) {
      const std::uint64_t length = std::min(kPiece - position_ % kPiece, bytes);
      pieces[count] = {address(memory_ + position_), length};
      position_ += length;
      bytes -= length;
    }
    return count;
  }
  std::uint32_t atom_size() const override { return atom_; }
  std::uint64_t piece_count() const override { return total_bytes_ / kPiece + 1; }
  std::unique_ptr<LayoutCursor> clone() const override {
    auto copy = std::make_unique<ShortPieces>(*this);
    copy->position_ = 0;
    return copy;
  }
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  static constexpr std::uint64_t kPiece = 5;
  const std::byte* memory_;
  std::uint32_t atom_;
};

// A record that is full of pieces before it is full of bytes ends inside of an atom: what is too much goes to the next
// one. Only at the end of the message there may be less than an atom.
TEST(Atoms, AreNotCutWhereARecordHasAsManyPiecesAsItMay) {
  for (const std::uint32_t atom : {8u, 24u, 26u, 853u, 2560u, 1u}) {
    for (const std::size_t total : {std::size_t{2560}, 20 * std::size_t{2560}, std::size_t{9'007}}) {
      Job job(2, small_copies(), 32 * 1024);
      job.start();
      std::vector<std::byte> from(total), to(total);
      for (std::size_t i = 0; i < total; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
      job.task(1).host.on_header = [&](const ArrivedMessage&) {
        HeaderVerdict verdict;
        verdict.layout = std::make_unique<AtomCursor>(to.data(), total, atom);
        return verdict;
      };
      ShortPieces source(from, atom);
      int arrived = 0;
      ASSERT_EQ(job[0].layout_message({1, 5, nullptr, 0, &source, false, address(&arrived), 0, 0}), Submit::accepted);
      for (int step = 0; step < 100; ++step) job[step % 2].progress();
      EXPECT_EQ(arrived, 1);
      EXPECT_TRUE(from == to) << total << " bytes in atoms of " << atom;
    }
  }
}

}  // namespace
}  // namespace openlapi
