// Writes the page from which the tasks of this node learn which adapters are up (control/base/adapter_page.h).
#pragma once

#include <map>
#include <string>

#include "control/base/adapter_page.h"
#include "control/daemon/messages/adapter_message.h"

namespace openlapi::daemon {

class AdapterPageWriter {
 public:
  // Makes the file anew: tasks of an earlier daemon keep theirs. Throws std::runtime_error.
  explicit AdapterPageWriter(const std::string& path);
  ~AdapterPageWriter();
  AdapterPageWriter(const AdapterPageWriter&) = delete;
  AdapterPageWriter& operator=(const AdapterPageWriter&) = delete;

  // True: tasks see something else from now on.
  bool write(const std::map<std::uint32_t, NodeAdapters>& rows);

 private:
  AdapterPage* page_ = nullptr;
  std::vector<AdapterPlace> places_{};  // that are there
};

}  // namespace openlapi::daemon
