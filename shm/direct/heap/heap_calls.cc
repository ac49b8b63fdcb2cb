// The preloaded library: calls by which an allocator gets and gives back memory. Those of mimalloc, which is preloaded
// as well, get memory of the window; all others go to the system as they are.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "shm/direct/heap/heap_window.h"

namespace openlapi::direct {
namespace {

constexpr std::size_t kLeast = std::size_t{1} << 20;  // what is smaller is the allocator's own

constinit HeapWindow window;
// The code of the allocator.
constinit std::uintptr_t allocator_begin = 0, allocator_end = 0;

const void* object_of(const void* symbol) {
  Dl_info found{};
  return symbol != nullptr && dladdr(symbol, &found) != 0 ? found.dli_fbase : nullptr;
}

// Where the code of the object lies that begins there.
int find_code(dl_phdr_info* object, std::size_t, void* begin) {
  bool is_it = false;
  std::uintptr_t from = UINTPTR_MAX, to = 0;
  for (int number = 0; number < object->dlpi_phnum; ++number) {
    const ElfW(Phdr)& part = object->dlpi_phdr[number];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t address = object->dlpi_addr + part.p_vaddr;
    is_it = is_it || address == reinterpret_cast<std::uintptr_t>(begin);
    if ((part.p_flags & PF_X) == 0) continue;
    if (address < from) from = address;
    if (address + part.p_memsz > to) to = address + part.p_memsz;
  }
  if (!is_it) return 0;
  allocator_begin = from, allocator_end = to;
  return 1;
}

bool is_allocator(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  return address >= allocator_begin && address < allocator_end;
}

// An allocator of another kind may count on what this memory is not.
const char* find_allocator() {
  const void* const object = object_of(dlsym(RTLD_DEFAULT, "malloc"));
  if (object == nullptr || object != object_of(dlsym(RTLD_DEFAULT, "mi_malloc"))) {
    return "malloc() is not that of a libmimalloc.so, which must be installed and preloaded";
  }
  if (object == object_of(reinterpret_cast<const void*>(getauxval(AT_ENTRY)))) return "mimalloc is in the program";
  dl_iterate_phdr(find_code, const_cast<void*>(object));
  return allocator_begin < allocator_end ? nullptr : "mimalloc's code is not found";
}

// Of the lock's holder in the parent and, by the same name, in the child.
void before_fork() {
  window.lock();
  window.make_private(false);
}
void after_fork() { window.unlock(); }

std::string_view wanted_size(char** environment) {
  constexpr std::string_view kName = "OPENLAPI_DIRECT_HEAP=";
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(kName)) return entry.data() + kName.size();
  }
  return "yes";
}

const char* open_heap(char** environment) {
  const auto size = heap_size_of(wanted_size(environment));
  if (!size || *size == 0) return "OPENLAPI_DIRECT_HEAP does not ask for it";
  if (const char* const refusal = find_allocator()) return refusal;
  if (pthread_atfork(before_fork, after_fork, after_fork) != 0) return "there is no memory for the handlers of fork";
  return window.open(*size);
}

bool is_shared() { return window.is_shared(); }

void make_private(bool copied) {
  window.lock();
  window.make_private(copied);
  window.unlock();
}

constinit PreloadedHeap heap = {.version = kPreloadedHeapVersion,
                                .refusal = "the process has only just begun",
                                .file = -1,
                                .begin = 0,
                                .end = 0,
                                .is_shared = is_shared,
                                .make_private = make_private};

// The first of all libraries to be initialised (-z initfirst), so that others' memory is in the window, too. Not even
// the C library knows the environment yet.
[[gnu::constructor]] void begin_heap(int, char**, char** environment) {
  heap.refusal = open_heap(environment);
  heap.begin = window.begin();
  heap.end = window.end();
  heap.file = window.file();
}

void* system_map(void* hint, std::size_t bytes, int rights, int kind, int file, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, hint, bytes, rights, kind, file, offset));
}

void* map(const void* caller, void* hint, std::size_t bytes, int rights, int kind, int file, off_t offset) {
  constexpr int kOrdinary = MAP_PRIVATE | MAP_ANONYMOUS;
  if (is_allocator(caller) && (kind & ~MAP_NORESERVE) == kOrdinary && bytes >= kLeast) {
    if (void* const memory = window.map(bytes, rights)) return memory;
  }
  return system_map(hint, bytes, rights, kind, file, offset);
}

}  // namespace
}  // namespace openlapi::direct

using namespace openlapi::direct;

#define EXPORTED extern "C" [[gnu::visibility("default")]]

EXPORTED const PreloadedHeap* openlapi_preloaded_heap() { return &heap; }

EXPORTED void* mmap(void* hint, std::size_t bytes, int rights, int kind, int file, off_t offset) noexcept {
  return map(__builtin_return_address(0), hint, bytes, rights, kind, file, offset);
}

EXPORTED void* mmap64(void* hint, std::size_t bytes, int rights, int kind, int file, off64_t offset) noexcept {
  return map(__builtin_return_address(0), hint, bytes, rights, kind, file, offset);
}

EXPORTED int munmap(void* memory, std::size_t bytes) noexcept {
  if (window.has(memory)) return window.unmap(memory, bytes);
  return static_cast<int>(syscall(SYS_munmap, memory, bytes));
}

EXPORTED int madvise(void* memory, std::size_t bytes, int advice) noexcept {
  const bool discards = advice == MADV_DONTNEED || advice == MADV_FREE;
  if (discards && window.has(memory)) return window.discard(memory, bytes);
  return static_cast<int>(syscall(SYS_madvise, memory, bytes, advice));
}
