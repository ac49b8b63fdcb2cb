#include "dataplane/base/linked_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace openlapi {
namespace {

struct Element {
  int value = 0;
  ListLinks<Element> here, there;
};

using Here = LinkedList<Element, &Element::here>;
using There = LinkedList<Element, &Element::there>;

template <class List>
std::vector<int> values(const List& list) {
  std::vector<int> result;
  for (Element* at = list.first(); at != nullptr; at = List::next(*at)) result.push_back(at->value);
  return result;
}

TEST(LinkedList, KeepsTheOrderWhoeverLeaves) {
  Element a{1, {}, {}}, b{2, {}, {}}, c{3, {}, {}}, d{4, {}, {}};
  Here list;
  EXPECT_TRUE(list.empty());
  for (Element* element : {&a, &b, &c, &d}) list.push_back(*element);
  list.remove(b);
  EXPECT_EQ(values(list), (std::vector{1, 3, 4}));
  list.remove(d);
  list.push_back(b);
  EXPECT_EQ(values(list), (std::vector{1, 3, 2}));
  list.remove(a);
  EXPECT_EQ(values(list), (std::vector{3, 2}));
  list.remove(c);
  list.remove(b);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.first(), nullptr);
  list.push_back(c);
  EXPECT_EQ(values(list), (std::vector{3}));
}

TEST(LinkedList, LinksAreApart) {
  Element a{1, {}, {}}, b{2, {}, {}};
  Here here;
  There there;
  here.push_back(a);
  here.push_back(b);
  there.push_back(b);
  there.push_back(a);
  here.remove(a);
  EXPECT_EQ(values(here), (std::vector{2}));
  EXPECT_EQ(values(there), (std::vector{2, 1}));
}

}  // namespace
}  // namespace openlapi
