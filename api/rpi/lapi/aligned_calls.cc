#include "api/rpi/lapi/aligned_calls.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>

#include "api/rpi/lapi/function_words.h"

namespace openlapi::rpi {

namespace {

using Memalign = void* (*)(std::size_t alignment, std::size_t bytes);
std::atomic<Memalign> memalign_of_process{nullptr};

int led_posix_memalign(void** place, std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;  // which this function leaves alone
  void* const made = memalign_of_process.load()(alignment, bytes);
  errno = error;
  if (made == nullptr) return ENOMEM;
  *place = made;
  return 0;
}

void* led_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign_of_process.load()(alignment, bytes);
}

// Null: there is nothing to lead, or nowhere to.
Memalign find_memalign() {
  const void* const freeing = object_of(dlsym(RTLD_DEFAULT, "free"));
  if (freeing == nullptr || freeing == object_of(dlsym(RTLD_DEFAULT, "posix_memalign"))) return nullptr;
  void* const found = dlsym(RTLD_DEFAULT, "memalign");
  return object_of(found) == freeing ? reinterpret_cast<Memalign>(found) : nullptr;
}

// The linker is asked for these before it walks through the objects: then it holds a lock, and may not be asked.
struct LedFunctions {
  std::array<Leading, 2> led;
  std::array<Leading, 4> memory;  // to which the target fits
};

void* found_as(const char* name) { return dlsym(RTLD_DEFAULT, name); }

LedFunctions functions_to_lead() {
  LedFunctions functions{{{{"posix_memalign", nullptr, reinterpret_cast<void*>(&led_posix_memalign)},
                           {"aligned_alloc", nullptr, reinterpret_cast<void*>(&led_aligned_alloc)}}},
                         {{{"free", nullptr, nullptr},
                           {"malloc", nullptr, nullptr},
                           {"calloc", nullptr, nullptr},
                           {"realloc", nullptr, nullptr}}}};
  for (Leading& each : functions.led) each.own = found_as(each.name);
  for (Leading& each : functions.memory) each.own = found_as(each.name);
  return functions;
}

// Not so where somebody has loaded it with RTLD_DEEPBIND, for instance: what it frees goes elsewhere. One that has
// bound nothing of this yet is taken for one that shares it.
bool shares_memory(const dl_phdr_info& object, const LedFunctions& functions) {
  bool is_shared = true;
  visit_words(object, [&](const FunctionWord& word) {
    const Leading* const function = find_leading(functions.memory, word.name);
    if (function != nullptr && word.value() != function->own && !word.is_unbound(object)) is_shared = false;
  });
  return is_shared;
}

int lead_in_object(dl_phdr_info* object, std::size_t, void* argument) {
  const auto& functions = *static_cast<const LedFunctions*>(argument);
  if (shares_memory(*object, functions)) lead_calls(*object, functions.led);
  return 0;
}

}  // namespace

void lead_aligned_calls() {
  const Memalign memalign = find_memalign();
  if (memalign == nullptr) return;
  memalign_of_process = memalign;
  LedFunctions functions = functions_to_lead();
  dl_iterate_phdr(lead_in_object, &functions);
}

}  // namespace openlapi::rpi
