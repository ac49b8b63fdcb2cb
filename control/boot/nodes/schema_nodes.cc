#include "control/boot/nodes/schema_nodes.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "control/base/session_suffix.h"
#include "control/boot/include/boot.h"

namespace openlapi::boot {

int SchemaNodes::parse_options(OPT* args, int bhost_schema_args) {
  forget();
  if (bhost_schema_args == 1) {
    schema_ = lam_ssi_boot_base_find_boot_schema(args);
  } else {
    new_host_ = lam_ssi_boot_base_find_hostname(args);
  }
  return schema_ == nullptr && new_host_ == nullptr ? LAMERROR : 0;
}

int SchemaNodes::allocate(lamnode** nodes, int* nnodes, int* origin) {
  if (new_host_ != nullptr) {
    return lam_ssi_boot_base_lamgrow(new_host_, nodes, nnodes, origin) == nullptr ? LAMERROR : 0;
  }
  return bhostparse(schema_, nodes, nnodes);
}

void SchemaNodes::forget() {
  std::free(schema_);
  std::free(new_host_);
  schema_ = new_host_ = nullptr;
}

void add_common_options(std::vector<std::string>& words) {
  for (const char* option : {"d", "v"}) {
    if (ao_taken(lam_ssi_boot_optd, option) != 0) words.push_back(std::string("-") + option);
  }
  for (const auto& [option, otherwise] :
       {std::pair<const char*, std::string>{"sessionprefix", ""}, {"sessionsuffix", suffix_of_environment()}}) {
    const char* given = ao_param(lam_ssi_boot_optd, option, 0, 0);
    const std::string value = given == nullptr ? otherwise : given;
    if (!value.empty()) words.insert(words.end(), {std::string("-") + option, value});
  }
}

char* value_of(LIST* pairs, const char* key) {
  std::string copy = key;
  const ELEM wanted{copy.data(), nullptr};
  const auto* pair = static_cast<const ELEM*>(al_find(pairs, &wanted));
  return pair == nullptr ? nullptr : pair->value;
}

std::string program_path(const lamnode& node, const std::string& name) {
  const char* prefix = value_of(node.lnd_keyval, "prefix");
  return prefix == nullptr || name.find('/') != std::string::npos ? name : std::string(prefix) + "/bin/" + name;
}

}  // namespace openlapi::boot
