#include "shm/direct/direct_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace openlapi::direct {
DirectFile DirectFile::create(std::string& error) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < kFileSize) {  // beyond it, SIGXFSZ ends the process
    error =
        "files may have " + std::to_string(limit.rlim_cur) + " bytes only (ulimit -f); direct access needs no limit";
    return {};
  }
  DirectFile file;
  file.file_.reset(memfd_create("lapi-direct", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.descriptor(), static_cast<off_t>(kFileSize)) != 0 ||
      fcntl(file.descriptor(), F_ADD_SEALS, kFileSeals) != 0) {
    error = std::string("no memory file for direct access: ") + std::strerror(errno);
    return {};
  }
  return file;
}

DirectFile DirectFile::adopt(int descriptor, std::uint64_t next_place, std::string& error) {
  DirectFile file;
  file.file_.reset(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  file.next_ = next_place;
  if (!file.valid()) error = std::string("no descriptor for direct access: ") + std::strerror(errno);
  return file;
}

DirectFile DirectFile::attach(FileDescriptor descriptor, std::string& error) {
  DirectFile file;
  file.file_ = std::move(descriptor);
  struct stat status {};
  const int seals = fcntl(file.descriptor(), F_GET_SEALS);
  if (seals < 0 || fstat(file.descriptor(), &status) != 0) {
    error = std::string("what came for direct access is no memory file: ") + std::strerror(errno);
    return {};
  }
  if ((seals & kFileSeals) != kFileSeals || static_cast<std::uint64_t>(status.st_size) != kFileSize) {
    error = "the memory file for direct access has a size of " + std::to_string(status.st_size) +
            " bytes that may change; it is " + std::to_string(kFileSize) + " bytes and sealed";
    return {};
  }
  return file;
}

std::uint64_t DirectFile::place(std::uint64_t begin, std::uint64_t end) {
  if (next_ > kFileSize - kPlaceSpacing || end - begin > kPlaceSpacing / 2) return 0;
  return std::exchange(next_, next_ + kPlaceSpacing) + begin % kRegion;
}

void DirectFile::discard(std::uint64_t offset, std::uint64_t length) const {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  fallocate(file_.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(length));
}

}  // namespace openlapi::direct
