// The nodes of a boot that a boot schema, or the command line of lamgrow, names: for modules that are told their hosts.
#pragma once

#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

// One in a module, for its functions of sections 3.4 and 3.5; they return what these do.
class SchemaNodes {
 public:
  SchemaNodes() = default;
  ~SchemaNodes() { forget(); }
  SchemaNodes(const SchemaNodes&) = delete;
  SchemaNodes& operator=(const SchemaNodes&) = delete;

  int parse_options(OPT* args, int bhost_schema_args);
  int allocate(lamnode** nodes, int* nnodes, int* origin);
  // lamgrow: the universe is there already, and its origin.
  bool grows() const { return new_host_ != nullptr; }

 private:
  void forget();

  char* schema_ = nullptr;  // one of the two
  char* new_host_ = nullptr;
};

// Which node daemons report to: this one.
struct OriginNode {
  lamnode node{};
  int index = 0;
};

// What of the tool's command line (lam_ssi_boot_optd) programs on other nodes are given too.
void add_common_options(std::vector<std::string>& words);

// The value of a key that the boot schema has for the node; nullptr: none.
char* value_of(LIST* pairs, const char* key);

// Where a program lies on the node: in its prefix, if the schema has one.
std::string program_path(const lamnode& node, const std::string& name);

}  // namespace openlapi::boot
