// LIST of all_list.h: each element lies behind its links in one block.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/all_list.h"
#include "control/boot/linked_list.h"

namespace openlapi::boot {

struct alignas(std::max_align_t) Links {
  Links* next;
  Links* previous;
};

}  // namespace openlapi::boot

namespace {

using openlapi::boot::Links;

void* body(Links* links) { return links == nullptr ? nullptr : static_cast<void*>(links + 1); }
Links* links_of(const void* element) { return static_cast<Links*>(const_cast<void*>(element)) - 1; }

}  // namespace

struct al_desc {
  std::size_t element_size = 0;
  al_compare_fn_t compare = nullptr;
  openlapi::boot::ReleaseElement release = nullptr;
  Links* first = nullptr;
  Links* last = nullptr;
  int4 count = 0;

  void put_behind(Links* element, Links* behind) {
    Links* before = behind == nullptr ? first : behind->next;
    element->previous = behind;
    element->next = before;
    (behind == nullptr ? first : behind->next) = element;
    (before == nullptr ? last : before->previous) = element;
    ++count;
  }
  void take_out(Links* element) {
    (element->previous == nullptr ? first : element->previous->next) = element->next;
    (element->next == nullptr ? last : element->next->previous) = element->previous;
    --count;
  }
  Links* place_of(const void* element) const {
    Links* place = last;
    while (compare != nullptr && place != nullptr && compare(body(place), element) > 0) place = place->previous;
    return place;
  }
  void* add(const void* element, Links* behind) {
    auto* links = static_cast<Links*>(std::malloc(sizeof(Links) + element_size));
    if (links == nullptr) return nullptr;
    std::memcpy(body(links), element, element_size);
    put_behind(links, behind);
    return body(links);
  }
};

namespace openlapi::boot {

void release_elements_with(LIST* list, ReleaseElement release) { list->release = release; }

}  // namespace openlapi::boot

LIST* al_init(int4 elemsize, al_compare_fn_t comp) {
  if (elemsize < 1) return nullptr;
  auto* list = new (std::nothrow) al_desc;
  if (list == nullptr) return nullptr;
  list->element_size = static_cast<std::size_t>(elemsize);
  list->compare = comp;
  return list;
}

void* al_append(LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : ald->add(element, ald->last);
}

void* al_insert(LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : ald->add(element, ald->place_of(element));
}

void* al_find(LIST* ald, const void* key) {
  if (ald == nullptr || ald->compare == nullptr || key == nullptr) return nullptr;
  Links* links = ald->first;
  while (links != nullptr && ald->compare(body(links), key) != 0) links = links->next;
  return body(links);
}

void* al_update(LIST* ald, void* element) {
  if (ald == nullptr || element == nullptr) return nullptr;
  Links* links = links_of(element);
  ald->take_out(links);
  ald->put_behind(links, ald->place_of(element));
  return element;
}

void* al_top(const LIST* ald) { return ald == nullptr ? nullptr : body(ald->first); }
void* al_bottom(const LIST* ald) { return ald == nullptr ? nullptr : body(ald->last); }

void* al_next(const LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : body(links_of(element)->next);
}

void* al_prev(const LIST* ald, const void* element) {
  return ald == nullptr || element == nullptr ? nullptr : body(links_of(element)->previous);
}

int4 al_count(const LIST* ald) { return ald == nullptr ? 0 : ald->count; }

int4 al_delete(LIST* ald, void* element) {
  if (ald == nullptr || element == nullptr) return LAMERROR;
  ald->take_out(links_of(element));
  if (ald->release != nullptr) ald->release(element);
  std::free(links_of(element));
  return 0;
}

int4 al_free(LIST* ald) {
  if (ald == nullptr) return LAMERROR;
  while (ald->first != nullptr) al_delete(ald, body(ald->first));
  delete ald;
  return 0;
}
