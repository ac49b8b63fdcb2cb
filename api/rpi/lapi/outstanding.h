// What was begun with each peer and has not ended: it ends when the peer is lost, at the latest.
#pragma once

#include <new>

#include "api/rpi/lapi/world.h"
#include "dataplane/base/linked_list.h"

namespace openlapi::rpi {

class Outstanding {
 public:
  struct Item {
    Outstanding* list = nullptr;
    WhenDone when_done{};
    ListLinks<Item> links{};
  };

  ~Outstanding() {
    while (!items_.empty()) remove(items_.first());
  }
  Outstanding() = default;
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;

  // Null: there is no memory.
  Item* add(WhenDone when_done) {
    auto* const item = new (std::nothrow) Item{.list = this, .when_done = when_done};
    if (item != nullptr) items_.push_back(*item);
    return item;
  }
  // Ends the item.
  static WhenDone ending(Item* item) {
    return {[](void* ended, Outcome outcome) { end(static_cast<Item*>(ended), outcome); }, item};
  }
  static void end(Item* item, Outcome outcome) {
    const WhenDone when_done = item->when_done;
    item->list->remove(item);
    if (when_done.function != nullptr) when_done.function(when_done.argument, outcome);
  }
  void lose_all() {
    while (!items_.empty()) end(items_.first(), Outcome::peer_lost);
  }

  bool empty() const { return items_.empty(); }

  // It has not begun.
  void forget(Item* item) { remove(item); }

 private:
  void remove(Item* item) {
    items_.remove(*item);
    delete item;
  }

  LinkedList<Item, &Item::links> items_{};
};

}  // namespace openlapi::rpi
