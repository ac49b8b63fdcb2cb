// Reads a small file, such as those in /proc.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace openlapi {

// Empty if it cannot be read. A process or thread may end between opening its file in /proc and reading it (ESRCH);
// istreambuf_iterator would throw then.
inline std::string file_text(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace openlapi
