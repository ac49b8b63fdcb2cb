// LIST of all_list.h: each element lies behind its links in one block, as in LAM.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "control/boot/include/all_list.h"
#include "control/boot/structures/linked_list.h"

namespace {

using openlapi::boot::ReleaseElement;

// What LIST has behind what modules see of it.
struct List : al_desc {
  ReleaseElement release = nullptr;

  void put_behind(al_head* element, al_head* behind) {
    al_head* before = behind == nullptr ? al_ltop : behind->al_next;
    element->al_prev = behind;
    element->al_next = before;
    (behind == nullptr ? al_ltop : behind->al_next) = element;
    (before == nullptr ? al_lbottom : before->al_prev) = element;
    ++al_nelem;
  }
  void take_out(al_head* element) {
    (element->al_prev == nullptr ? al_ltop : element->al_prev->al_next) = element->al_next;
    (element->al_next == nullptr ? al_lbottom : element->al_next->al_prev) = element->al_prev;
    --al_nelem;
  }
  al_head* place_of(const void* element) const {
    al_head* place = al_lbottom;
    while (al_comp != nullptr && place != nullptr && al_comp(al_body(place), element) > 0) place = place->al_prev;
    return place;
  }
  void* add(const void* element, al_head* behind) {
    const auto size = static_cast<std::size_t>(al_elemsize);
    auto* head = static_cast<al_head*>(std::malloc(sizeof(al_head) + size));
    if (head == nullptr) return nullptr;
    std::memcpy(al_body(head), element, size);
    put_behind(head, behind);
    return al_body(head);
  }
};

List* list_of(LIST* ald) { return static_cast<List*>(ald); }
al_head* head_of(const void* element) { return static_cast<al_head*>(const_cast<void*>(element)) - 1; }

}  // namespace

namespace openlapi::boot {

void release_elements_with(LIST* list, ReleaseElement release) { list_of(list)->release = release; }

}  // namespace openlapi::boot

LIST* al_init(int4 elemsize, al_compare_fn_t comp) {
  if (elemsize < 1) return nullptr;
  auto* list = new (std::nothrow) List{};
  if (list == nullptr) return nullptr;
  list->al_elemsize = elemsize;
  list->al_comp = comp;
  return list;
}

void* al_append(LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : list_of(ald)->add(element, ald->al_lbottom);
}

void* al_insert(LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : list_of(ald)->add(element, list_of(ald)->place_of(element));
}

void* al_find(LIST* ald, const void* key) {
  if (ald == nullptr || ald->al_comp == nullptr || key == nullptr) return nullptr;
  al_head* head = ald->al_ltop;
  while (head != nullptr && ald->al_comp(al_body(head), key) != 0) head = head->al_next;
  return al_body(head);
}

void* al_update(LIST* ald, void* element) {
  if (ald == nullptr || element == nullptr) return nullptr;
  List& list = *list_of(ald);
  al_head* head = head_of(element);
  list.take_out(head);
  list.put_behind(head, list.place_of(element));
  return element;
}

// In parentheses no macros.
void*(al_top)(const LIST* ald) { return al_top(ald); }
void*(al_bottom)(const LIST* ald) { return al_bottom(ald); }
int4(al_count)(const LIST* ald) { return al_count(ald); }

void* al_next(const LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : al_body(head_of(element)->al_next);
}

void* al_prev(const LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : al_body(head_of(element)->al_prev);
}

int4 al_delete(LIST* ald, void* element) {
  if (ald == nullptr || element == nullptr) return LAMERROR;
  List& list = *list_of(ald);
  list.take_out(head_of(element));
  if (list.release != nullptr) list.release(element);
  std::free(head_of(element));
  return 0;
}

int4 al_free(LIST* ald) {
  if (ald == nullptr) return LAMERROR;
  while (ald->al_ltop != nullptr) al_delete(ald, al_body(ald->al_ltop));
  delete list_of(ald);
  return 0;
}
