// Objects that come and go with every message: those that have ended are kept, up to a number, and are the next ones,
// so that no memory is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace openlapi::rpi {

template <class Object, std::size_t kMost>
class Stock {
 public:
  // A new one. Null: there is no memory.
  std::unique_ptr<Object> take() {
    if (count_ == 0) return std::unique_ptr<Object>(new (std::nothrow) Object);
    return std::move(kept_[--count_]);
  }

  // It has ended.
  void give_back(std::unique_ptr<Object> object) {
    if (count_ == kMost) return;
    std::destroy_at(object.get());
    std::construct_at(object.get());
    kept_[count_++] = std::move(object);
  }

 private:
  std::array<std::unique_ptr<Object>, kMost> kept_{};
  std::size_t count_ = 0;
};

}  // namespace openlapi::rpi
