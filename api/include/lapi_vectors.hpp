// Part of lapi.hpp: data in several pieces (lapi_vec_t), for Context::put, get and send.
#pragma once

#include "lapi_basics.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace lapi {

// `count` blocks of `block` elements; each begins `stride` elements after the one before.
struct Blocks {
  unsigned count = 0;
  std::size_t block = 0;
  std::size_t stride = 0;
};

namespace detail {

// A lapi_vec_t with its lists, which are allocated. It stays where it is: its address is an answer of header handlers.
class Pieces {
 public:
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // The library only reads it.
  lapi_vec_t* get() const noexcept { return const_cast<lapi_vec_t*>(&vector_); }

 protected:
  explicit Pieces(lapi_vectype_t type) noexcept : vector_{type, 0, nullptr, nullptr} {}
  Pieces(const void* base, unsigned count, std::size_t block, std::size_t stride)
      : addresses_{plain(base), reinterpret_cast<void*>(block), reinterpret_cast<void*>(stride)},
        vector_{LAPI_GEN_STRIDED_XFER, count, addresses_.data(), nullptr} {}

  void add(const void* address, std::size_t bytes) {
    addresses_.push_back(plain(address));
    lengths_.push_back(bytes);
    vector_ = {vector_.vec_type, static_cast<uint>(lengths_.size()), addresses_.data(), lengths_.data()};
  }

 private:
  std::vector<void*> addresses_;
  std::vector<ulong> lengths_;
  lapi_vec_t vector_;
};

}  // namespace detail

// Of this task. Messages whose pieces differ from those of the answer are LAPI_GEN_GENERIC on both sides.
template <class T>
class Vector : public detail::Pieces {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  explicit Vector(std::span<const std::span<T>> pieces, lapi_vectype_t type = LAPI_GEN_IOVECTOR) : Pieces(type) {
    for (const std::span<T> piece : pieces) add(piece.data(), piece.size_bytes());
  }
  Vector(std::initializer_list<std::span<T>> pieces, lapi_vectype_t type = LAPI_GEN_IOVECTOR)
      : Vector(std::span(pieces.begin(), pieces.size()), type) {}
  Vector(T* first, Blocks blocks) : Pieces(first, blocks.count, blocks.block * sizeof(T), blocks.stride * sizeof(T)) {}
};

// Elements of another task from `first` on.
template <class T>
struct RemoteSpan {
  Remote<T> first{};
  std::size_t size = 0;
};

// Of another task, described here. All pieces are of one task.
template <class T>
class RemoteVector : public detail::Pieces {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  explicit RemoteVector(std::span<const RemoteSpan<T>> pieces) : Pieces(LAPI_GEN_IOVECTOR) {
    for (const auto& [first, size] : pieces) {
      detail::check(first.task == pieces[0].first.task ? LAPI_SUCCESS : LAPI_ERR_TGT, "lapi::RemoteVector");
      task_ = first.task;
      add(first.address, size * sizeof(T));
    }
  }
  RemoteVector(std::initializer_list<RemoteSpan<T>> pieces) : RemoteVector(std::span(pieces.begin(), pieces.size())) {}
  RemoteVector(Remote<T> first, Blocks blocks)
      : Pieces(first.address, blocks.count, blocks.block * sizeof(T), blocks.stride * sizeof(T)), task_(first.task) {}

  unsigned task() const noexcept { return task_; }

 private:
  unsigned task_ = 0;
};

}  // namespace lapi
