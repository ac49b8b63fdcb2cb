#include "api/wiring/libraries.h"

#include <algorithm>
#include <cstdio>

#include "api/wiring/build_id.h"
#include "api/wiring/info_level.h"
#include "api/wiring/task_texts.h"
#include "api/wiring/version.h"

namespace openlapi {
namespace {

std::string_view wire_version_of(std::string_view library) { return library.substr(0, library.find(' ')); }

std::string describe(std::uint32_t task, std::string_view library) {
  const std::string_view text = library.substr(std::min(library.size(), wire_version_of(library).size() + 1));
  return "task " + std::to_string(task) + " runs openlapi " + std::string(text) + ", wire version " +
         std::string(wire_version_of(library));
}

constexpr const char* kOneVersion = "the tasks of a job have to run libraries of one wire version";

}  // namespace

std::string own_library() {
  const std::string id = build_id();
  return std::to_string(wire_version()) + " " + version_number() + ", built " + build_stamp() +
         (id.empty() ? "" : ", build " + id);
}

LibraryMatch match_libraries(std::string_view own, std::string_view other) {
  if (wire_version_of(own) != wire_version_of(other)) return LibraryMatch::other_wire_version;
  return own == other ? LibraryMatch::same : LibraryMatch::other_build;
}

bool compare_libraries(Bootstrap& bootstrap, int info_level, std::string& reason) {
  const std::uint32_t asked = task_to_compare_with(bootstrap);
  if (asked == bootstrap.task()) return true;
  TaskTexts other;
  if (!published_texts(bootstrap, asked, other, reason)) return false;
  const std::string own = own_library();
  const LibraryMatch match = match_libraries(own, other.library);
  if (match == LibraryMatch::same) return true;
  const std::string both = describe(asked, other.library) + "; " + describe(bootstrap.task(), own);
  if (match == LibraryMatch::other_wire_version) {
    reason = both + ": " + kOneVersion;
    return false;
  }
  if (info_level >= kLevelWarning && !is_said_by_another(bootstrap, &TaskTexts::library, own)) {
    std::fprintf(stderr, "openlapi: %s\n", both.c_str());
  }
  return true;
}

std::string describe_other_version(std::uint32_t self, std::uint32_t other, unsigned version) {
  return describe(self, own_library()) + "; what comes from task " + std::to_string(other) + " has wire version " +
         std::to_string(version) + ": " + kOneVersion +
         "; have the same liblapi.so.0 on every node (ldd PROGRAM, LD_LIBRARY_PATH)";
}

}  // namespace openlapi
