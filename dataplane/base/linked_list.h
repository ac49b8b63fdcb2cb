// A list whose links are members of its elements: nothing is allocated, and an element can be removed from anywhere at
// once. With each of its links an element can be in one list.
#pragma once

namespace openlapi {

template <class T>
struct ListLinks {
  T* before = nullptr;
  T* behind = nullptr;
};

template <class T, ListLinks<T> T::*kLinks>
class LinkedList {
 public:
  LinkedList() = default;
  LinkedList(const LinkedList&) = delete;
  LinkedList& operator=(const LinkedList&) = delete;

  bool empty() const { return first_ == nullptr; }
  T* first() const { return first_; }                                    // null: empty
  static T* next(const T& element) { return (element.*kLinks).behind; }  // null: it is the last

  void push_back(T& element) {
    element.*kLinks = {last_, nullptr};
    (last_ != nullptr ? (last_->*kLinks).behind : first_) = &element;
    last_ = &element;
  }

  void remove(T& element) {
    const ListLinks<T> links = element.*kLinks;
    (links.before != nullptr ? (links.before->*kLinks).behind : first_) = links.behind;
    (links.behind != nullptr ? (links.behind->*kLinks).before : last_) = links.before;
    element.*kLinks = {};
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace openlapi
