// The shape of a boot tree.
#pragma once

#include <vector>

namespace openlapi::boot {

struct TreeShape {
  int degree = 2;   // children of a node, helpers and leaves
  int at_once = 1;  // launches at the same time
};

// The least rounds for `count` nodes below one. A launch takes one round, also that of a helper, which then launches by
// itself.
int tree_rounds(const TreeShape& shape, int count);

// How many nodes each child of a process has below and with it, in the order in which to launch them, so that all
// `count` nodes are started after the least rounds.
std::vector<int> split_tree(const TreeShape& shape, int count);

// For so many nodes below the root: as many children as there are launches in the least rounds that any degree allows.
int tree_degree(int count, int at_once);

}  // namespace openlapi::boot
