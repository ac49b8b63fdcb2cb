// hbootparse: a process schema as a LIST of struct psc.
#include <cstdlib>
#include <new>
#include <string>

#include "control/base/session_suffix.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/include/sfh.h"
#include "control/boot/schemas/process_schema.h"
#include "control/boot/schemas/schema_path.h"
#include "control/boot/schemas/schema_words.h"
#include "control/boot/structures/linked_list.h"

namespace openlapi::boot {
namespace {

constexpr char kDefaultProcessSchema[] = "lam-conf.lamd";

std::string option_with_value(OPT* options, const char* name) {
  const char* value = ao_param(options, name, 0, 0);
  return value == nullptr ? "" : std::string("-") + name + " " + value;
}

// Other hosts do not have our environment.
std::string session_suffix(OPT* options) {
  const std::string given = option_with_value(options, "sessionsuffix"), suffix = suffix_of_environment();
  return !given.empty() || suffix.empty() ? given : "-sessionsuffix " + suffix;
}

SchemaVariables variables_of(OPT* options, const char* inet_topo, const char* rtr_topo) {
  return {{"debug", ao_taken(options, "d") != 0 ? "-d" : ""},
          {"inet_topo", inet_topo == nullptr ? "" : inet_topo},
          {"rtr_topo", rtr_topo == nullptr ? "" : rtr_topo},
          {"session_prefix", option_with_value(options, "sessionprefix")},
          {"session_suffix", session_suffix(options)}};
}

void release_process(void* element) { sfh_argv_free(static_cast<psc*>(element)->psc_argv); }

void append_process(LIST* list, const SchemaProcess& process) {
  psc entry{};
  entry.psc_delay = process.delay;
  bool complete = true;
  for (const std::string& word : process.words) {
    complete = complete && sfh_argv_add(&entry.psc_argc, &entry.psc_argv, word.c_str()) == 0;
  }
  if (!complete || al_append(list, &entry) == nullptr) {
    release_process(&entry);
    throw std::bad_alloc();
  }
}

LIST* list_of(const std::vector<SchemaProcess>& processes) {
  LIST* list = al_init(sizeof(psc), nullptr);
  if (list == nullptr) throw std::bad_alloc();
  release_elements_with(list, release_process);
  try {
    for (const SchemaProcess& process : processes) append_process(list, process);
  } catch (...) {
    al_free(list);
    throw;
  }
  return list;
}

}  // namespace
}  // namespace openlapi::boot

using namespace openlapi::boot;

int hbootparse(int debug, OPT* ad, const char* inet_topo, const char* rtr_topo, LIST** proc_list) {
  return catch_errors(LAMERROR, [&] {
    if (proc_list == nullptr) throw BootError("hbootparse: proc_list is NULL");
    const char* name = ao_param(ad, "c", 0, 0);
    const std::string path = find_schema_file(name == nullptr ? kDefaultProcessSchema : name, "process schema");
    *proc_list = list_of(parse_process_schema(read_schema_file(path), path, variables_of(ad, inet_topo, rtr_topo)));
    if (lam_ssi_boot_verbose >= 1)
      lam_debug(debug, "process schema: %s, %d process(es)", path.c_str(), al_count(*proc_list));
    return 0;
  });
}
