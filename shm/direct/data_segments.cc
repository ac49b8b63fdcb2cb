#include "shm/direct/data_segments.h"

#include <link.h>

#include <algorithm>
#include <string_view>

#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

// The program, or a library, as the loader has mapped it. What is named by texts lies in it.
struct LoadedObject {
  std::vector<AddressRange> writable{};
  AddressRange all{UINT64_MAX, 0};
  std::string_view name{};                      // by which others ask for it
  std::vector<std::string_view> needed{};       // names of what it was linked with
  bool of_program = false, of_library = false;  // needed by the program, by this library
};

// Loaders differ in whether they have made addresses of the numbers there.
template <typename Pointee>
const Pointee* pointed_to(std::uint64_t number, std::uint64_t base) {
  return reinterpret_cast<const Pointee*>(static_cast<std::uintptr_t>(number < base ? number + base : number));
}

void read_names(const ElfW(Dyn) * entries, std::uint64_t base, LoadedObject& object) {
  const char* texts = nullptr;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = pointed_to<char>(entry->d_un.d_ptr, base);
  }
  if (texts == nullptr) return;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) object.name = texts + entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) object.needed.emplace_back(texts + entry->d_un.d_val);
  }
}

int add_object(dl_phdr_info* info, std::size_t, void* objects) {
  LoadedObject object;
  const std::string_view path = info->dlpi_name;
  object.name = path.substr(path.rfind('/') + 1);
  for (int number = 0; number < info->dlpi_phnum; ++number) {
    const ElfW(Phdr)& part = info->dlpi_phdr[number];
    const std::uint64_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_DYNAMIC) read_names(pointed_to<ElfW(Dyn)>(begin, 0), info->dlpi_addr, object);
    if (part.p_type != PT_LOAD) continue;
    object.all = {std::min(object.all.begin, begin), std::max(object.all.end, end)};
    if ((part.p_flags & PF_W) == 0) continue;
    object.writable.push_back({begin / shm::kPage * shm::kPage, (end + shm::kPage - 1) / shm::kPage * shm::kPage});
  }
  static_cast<std::vector<LoadedObject>*>(objects)->push_back(std::move(object));
  return 0;
}

void mark_needed(std::vector<LoadedObject>& objects, const LoadedObject& root, bool LoadedObject::*mark) {
  std::vector<std::string_view> names = root.needed;
  for (std::size_t next = 0; next < names.size(); ++next) {
    for (LoadedObject& object : objects) {
      if (object.name != names[next] || object.*mark) continue;
      object.*mark = true;
      names.insert(names.end(), object.needed.begin(), object.needed.end());
    }
  }
}

}  // namespace

std::vector<AddressRange> data_segments() {
  std::vector<LoadedObject> objects;
  dl_iterate_phdr(add_object, &objects);
  std::vector<AddressRange> all;
  if (objects.empty()) return all;
  LoadedObject& program = objects.front();
  const std::uint64_t here = reinterpret_cast<std::uintptr_t>(&data_segments);
  mark_needed(objects, program, &LoadedObject::of_program);
  for (LoadedObject& object : objects) {
    if (here < object.all.begin || here >= object.all.end) continue;
    object.of_library = true;
    mark_needed(objects, object, &LoadedObject::of_library);
  }
  for (const LoadedObject& object : objects) {
    if (&object != &program && (!object.of_program || object.of_library)) continue;
    all.insert(all.end(), object.writable.begin(), object.writable.end());
  }
  return all;
}

}  // namespace openlapi::direct
