#include "control/boot/structures/linked_list.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace openlapi::boot {
namespace {

int4 compare_numbers(const void* left, const void* right) {
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

std::vector<int> forwards(LIST* list) {
  std::vector<int> numbers;
  for (void* at = al_top(list); at != nullptr; at = al_next(list, at)) numbers.push_back(*static_cast<int*>(at));
  return numbers;
}

std::vector<int> backwards(LIST* list) {
  std::vector<int> numbers;
  for (void* at = al_bottom(list); at != nullptr; at = al_prev(list, at)) numbers.push_back(*static_cast<int*>(at));
  return numbers;
}

class LinkedList : public testing::Test {
 protected:
  ~LinkedList() override { al_free(list_); }
  LIST* list_ = al_init(sizeof(int), compare_numbers);
};

TEST_F(LinkedList, AppendsCopiesInOrder) {
  for (int number : {3, 1, 2}) {
    void* copy = al_append(list_, &number);
    ASSERT_NE(copy, nullptr);
    EXPECT_NE(copy, &number);
  }
  EXPECT_EQ(al_count(list_), 3);
  EXPECT_EQ(forwards(list_), (std::vector{3, 1, 2}));
  EXPECT_EQ(backwards(list_), (std::vector{2, 1, 3}));
}

TEST_F(LinkedList, InsertsInOrderAndFinds) {
  for (const int number : {3, 1, 2, 5, 4}) al_insert(list_, &number);
  EXPECT_EQ(forwards(list_), (std::vector{1, 2, 3, 4, 5}));
  const int four = 4, six = 6;
  ASSERT_NE(al_find(list_, &four), nullptr);
  EXPECT_EQ(*static_cast<int*>(al_find(list_, &four)), 4);
  EXPECT_EQ(al_find(list_, &six), nullptr);
}

TEST_F(LinkedList, MovesAChangedElementToItsPlace) {
  for (const int number : {1, 2, 3}) al_insert(list_, &number);
  auto* first = static_cast<int*>(al_top(list_));
  *first = 9;
  EXPECT_EQ(al_update(list_, first), first);
  EXPECT_EQ(forwards(list_), (std::vector{2, 3, 9}));
}

TEST_F(LinkedList, DeletesAtBothEndsAndInTheMiddle) {
  for (const int number : {1, 2, 3, 4}) al_append(list_, &number);
  EXPECT_EQ(al_delete(list_, al_top(list_)), 0);
  EXPECT_EQ(al_delete(list_, al_bottom(list_)), 0);
  EXPECT_EQ(forwards(list_), (std::vector{2, 3}));
  EXPECT_EQ(al_delete(list_, al_next(list_, al_top(list_))), 0);
  EXPECT_EQ(backwards(list_), (std::vector{2}));
}

TEST(LinkedListWithoutOrder, InsertAppendsAndFindFindsNothing) {
  LIST* list = al_init(sizeof(int), nullptr);
  for (const int number : {3, 1}) al_insert(list, &number);
  EXPECT_EQ(forwards(list), (std::vector{3, 1}));
  const int one = 1;
  EXPECT_EQ(al_find(list, &one), nullptr);
  al_free(list);
}

// LAM 7.1's: modules that were built there walk our lists with its macros, and ours walk its.
TEST(ListLayout, IsThatOfLam) {
  EXPECT_EQ(sizeof(al_head), 2 * sizeof(void*));
  EXPECT_EQ(offsetof(al_head, al_next), 0U);
  EXPECT_EQ(offsetof(al_head, al_prev), sizeof(void*));
  EXPECT_EQ(offsetof(al_desc, al_elemsize), 0U);
  EXPECT_EQ(offsetof(al_desc, al_nelem), 4U);
  EXPECT_EQ(offsetof(al_desc, al_ltop), 8U);
  EXPECT_EQ(offsetof(al_desc, al_lbottom), 8U + sizeof(void*));
  EXPECT_EQ(offsetof(al_desc, al_ftop), 8U + 2 * sizeof(void*));
  EXPECT_EQ(offsetof(al_desc, al_comp), 8U + 3 * sizeof(void*));
  EXPECT_EQ(sizeof(al_desc), 8U + 4 * sizeof(void*));
}

TEST_F(LinkedList, MacrosSayWhatFunctionsSay) {
  EXPECT_EQ(al_top(list_), nullptr);
  EXPECT_EQ(al_bottom(list_), nullptr);
  for (const int number : {1, 2, 3}) al_append(list_, &number);
  EXPECT_EQ(al_top(list_), (al_top)(list_));
  EXPECT_EQ(al_bottom(list_), (al_bottom)(list_));
  EXPECT_EQ(al_count(list_), (al_count)(list_));
  // The elements themselves lie behind their links.
  EXPECT_EQ(static_cast<void*>(list_->al_ltop + 1), al_top(list_));
  EXPECT_EQ(static_cast<void*>(list_->al_ltop->al_next->al_next + 1), al_bottom(list_));
  EXPECT_EQ(list_->al_elemsize, static_cast<int4>(sizeof(int)));
}

int released = 0;

TEST(LinkedListThatOwns, ReleasesEveryElementOnce) {
  LIST* list = al_init(sizeof(int), nullptr);
  release_elements_with(list, [](void* element) { released += *static_cast<int*>(element); });
  for (const int number : {1, 10, 100}) al_append(list, &number);
  al_delete(list, al_top(list));
  EXPECT_EQ(released, 1);
  al_free(list);
  EXPECT_EQ(released, 111);
}

TEST(NoLinkedList, IsNoCrash) {
  EXPECT_EQ(al_init(0, nullptr), nullptr);
  LIST* none = nullptr;
  EXPECT_EQ(al_count(none), 0);
  EXPECT_EQ(al_top(none), nullptr);
  EXPECT_EQ(al_bottom(none), nullptr);
  EXPECT_EQ((al_count)(none), 0);
  EXPECT_EQ((al_top)(none), nullptr);
  EXPECT_EQ(al_append(nullptr, nullptr), nullptr);
  EXPECT_EQ(al_free(nullptr), LAMERROR);
}

}  // namespace
}  // namespace openlapi::boot
