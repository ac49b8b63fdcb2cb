// OPT of all_opt.h: what was declared.
#include "control/boot/structures/option_list.h"

#include <algorithm>
#include <new>

#include "control/boot/errors/boot_error.h"

using openlapi::boot::catch_errors;

namespace openlapi::boot {

DeclaredOption* find_option(OPT* options, std::string_view name) {
  for (DeclaredOption& option : options->declared) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

namespace {

const OptionInstance* find_instance(OPT* options, const char* name, int instance) {
  if (options == nullptr || name == nullptr || instance < 0) return nullptr;
  const DeclaredOption* option = find_option(options, name);
  if (option == nullptr || static_cast<std::size_t>(instance) >= option->instances.size()) return nullptr;
  return &option->instances[static_cast<std::size_t>(instance)];
}

}  // namespace
}  // namespace openlapi::boot

using openlapi::boot::DeclaredOption;
using openlapi::boot::find_instance;
using openlapi::boot::find_option;
using openlapi::boot::OptionInstance;

OPT* ao_init() { return new (std::nothrow) ao_desc; }
void ao_free(OPT* aod) { delete aod; }

int ao_setflags(OPT* aod, int flags) {
  if (aod == nullptr) return LAMERROR;
  aod->flags = flags;
  return 0;
}

int ao_setopt(OPT* aod, const char* opt, const char* mutex, int nparams, int flags) {
  return catch_errors(LAMERROR, [&] {
    if (aod == nullptr || opt == nullptr || find_option(aod, opt) != nullptr) return LAMERROR;
    int group = 0;
    if (mutex != nullptr) {
      DeclaredOption* other = find_option(aod, mutex);
      if (other == nullptr) return LAMERROR;
      if (other->group == 0) other->group = ++aod->groups;
      group = other->group;
    }
    const bool number = std::string_view(opt) == "#";
    aod->declared.push_back({opt, number ? 1 : nparams, number ? flags | AOINT : flags, group, {}});
    return 0;
  });
}

int ao_setopt1(OPT* aod, const char* letters, const char* mutex, int nparams, int flags) {
  for (const char* letter = letters; letter != nullptr && *letter != '\0'; ++letter) {
    const char option[] = {*letter, '\0'};
    if (ao_setopt(aod, option, mutex, nparams, flags) != 0) return LAMERROR;
  }
  return 0;
}

char* ao_argv0(OPT* aod) { return aod == nullptr || aod->program.empty() ? nullptr : aod->program.data(); }

int ao_ninsts(OPT* aod, const char* opt) {
  const DeclaredOption* option = aod == nullptr || opt == nullptr ? nullptr : find_option(aod, opt);
  return option == nullptr ? 0 : static_cast<int>(option->instances.size());
}

int ao_taken(OPT* aod, const char* opt) { return ao_ninsts(aod, opt) > 0 ? 1 : 0; }

int ao_ntaken(OPT* aod) {
  if (aod == nullptr) return 0;
  return static_cast<int>(
      std::ranges::count_if(aod->declared, [](const DeclaredOption& option) { return !option.instances.empty(); }));
}

char* ao_chosen(OPT* aod, const char* opt) {
  const DeclaredOption* asked = aod == nullptr || opt == nullptr ? nullptr : find_option(aod, opt);
  if (asked == nullptr || asked->group == 0) return nullptr;
  for (DeclaredOption& option : aod->declared) {
    if (option.group == asked->group && !option.instances.empty()) return option.name.data();
  }
  return nullptr;
}

int ao_nparams(OPT* aod, const char* opt, int inst) {
  const OptionInstance* instance = find_instance(aod, opt, inst);
  return instance == nullptr ? 0 : static_cast<int>(instance->words.size());
}

char* ao_param(OPT* aod, const char* opt, int inst, int idx) {
  const OptionInstance* instance = find_instance(aod, opt, inst);
  if (instance == nullptr || idx < 0 || static_cast<std::size_t>(idx) >= instance->words.size()) return nullptr;
  return const_cast<char*>(instance->words[static_cast<std::size_t>(idx)].c_str());
}

int ao_intparam(OPT* aod, const char* opt, int inst, int idx, int* value) {
  const OptionInstance* instance = find_instance(aod, opt, inst);
  if (instance == nullptr || value == nullptr || idx < 0) return LAMERROR;
  if (static_cast<std::size_t>(idx) >= instance->numbers.size()) return LAMERROR;
  *value = instance->numbers[static_cast<std::size_t>(idx)];
  return 0;
}

int ao_exam_isopt(OPT* aod, const char* opt) {
  return aod != nullptr && opt != nullptr && find_option(aod, opt) != nullptr ? 1 : 0;
}

int ao_exam_nparams(OPT* aod, const char* opt, int* nparams) {
  const DeclaredOption* option = aod == nullptr || opt == nullptr ? nullptr : find_option(aod, opt);
  if (option == nullptr || nparams == nullptr) return LAMERROR;
  *nparams = option->parameters;
  return 0;
}

int ao_tail(OPT* aod, int* tailc, char*** tailv) {
  if (aod == nullptr || tailc == nullptr || tailv == nullptr) return LAMERROR;
  *tailc = aod->tail.count();
  *tailv = aod->tail.array();
  return 0;
}

int ao_unused(OPT* aod, int* unusedc, char*** unusedv) {
  if (aod == nullptr || unusedc == nullptr || unusedv == nullptr) return LAMERROR;
  *unusedc = aod->unused.count();
  *unusedv = aod->unused.array();
  return 0;
}
