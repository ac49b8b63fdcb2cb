// The launcher's end of the pages in which its tasks say where they stand (dataplane/base/task_page.h): a file in the
// job's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

class TaskPages {
 public:
  // If there is no room for the file, nothing is known of the tasks.
  void make(const std::string& folder, std::size_t tasks);

  // For the environment of the task at this place: NAME=value. Empty: it has no page.
  std::string variable(std::size_t place) const;

  // What the task there says now.
  struct Wait {
    std::uint32_t call;  // WaitedCall, or what this program does not know
    std::uint32_t since;
    std::int32_t first;
    std::int32_t second;
  };
  struct Words {
    std::uint32_t process = 0;  // 0: nothing
    std::uint32_t opened = 0;
    std::uint32_t open = 0;
    std::uint32_t polled = 0;
    std::vector<Wait> waits{};
  };
  Words read(std::size_t place) const;

  // Whether a task here has ever come through LAPI_Init, where it has met all others.
  bool somebody_is_through() const;

 private:
  std::size_t tasks_ = 0;
  std::string path_;
  FileDescriptor file_;
};

}  // namespace openlapi
