// Arrays of struct lamnode: malloc'ed, because C code frees them with lam_deallocate_nodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/boot/include/lamnet.h"
#include "control/boot/schemas/host_schema.h"

namespace openlapi::boot {

// A new array, all zero; `count` may be 0. Throws std::bad_alloc.
class NodeArray {
 public:
  explicit NodeArray(std::size_t count);
  // With these nodes, numbered from 0.
  explicit NodeArray(const std::vector<HostEntry>& hosts);
  ~NodeArray();
  NodeArray(const NodeArray&) = delete;
  NodeArray& operator=(const NodeArray&) = delete;
  NodeArray(NodeArray&& other) noexcept : nodes_(other.release(&count_)) {}

  lamnode& operator[](std::size_t n) { return nodes_[n]; }
  int count() const { return count_; }
  lamnode* release(int* count);

 private:
  int count_ = 0;
  lamnode* nodes_ = nullptr;  // behind count_: moving sets both
};

// Fills in a zeroed node. Throws.
void describe_node(lamnode& node, int id, const HostEntry& host);
// Fills in a zeroed node with all of `from` but lnd_ssi.
void copy_node(lamnode& node, const lamnode& from);
void make_invalid(lamnode& node);

inline bool is_valid(const lamnode& node) { return node.lnd_nodeid != NOTNODEID; }
inline bool is_to_be_booted(const lamnode& node) { return is_valid(node) && (node.lnd_type & NT_BOOT) != 0; }

// "n3 (inky)" for messages.
std::string name_of(const lamnode& node);

}  // namespace openlapi::boot
