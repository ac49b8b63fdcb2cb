// The nodes that a boot schema or the command line of lamgrow names: for modules that do not find hosts by themselves.
#pragma once

#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

// A module has one, for its functions of the specification's sections 3.4 and 3.5, which return what these return.
class SchemaNodes {
 public:
  SchemaNodes() = default;
  ~SchemaNodes() { forget(); }
  SchemaNodes(const SchemaNodes&) = delete;
  SchemaNodes& operator=(const SchemaNodes&) = delete;

  int parse_options(OPT* args, int bhost_schema_args);
  int allocate(lamnode** nodes, int* nnodes, int* origin);
  // For lamgrow: the universe is there already, and has its origin.
  bool grows() const { return new_host_ != nullptr; }

 private:
  void forget();

  char* schema_ = nullptr;  // one of the two
  char* new_host_ = nullptr;
};

// The node to which daemons report: this process's.
struct OriginNode {
  lamnode node{};
  int index = 0;
};

// Appends those options of the tool's command line (lam_ssi_boot_optd) that programs on other nodes are given too.
void add_common_options(std::vector<std::string>& words);

// The value of a key that the boot schema has for the node; nullptr: none.
char* value_of(LIST* pairs, const char* key);

// Where a program lies on the node: in its prefix, if the schema has one.
std::string program_path(const lamnode& node, const std::string& name);

}  // namespace openlapi::boot
