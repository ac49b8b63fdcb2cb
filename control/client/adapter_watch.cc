#include "control/client/adapter_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "control/daemon/session/session_folder.h"
#include "control/daemon/session/tool_client.h"

namespace openlapi {
namespace {

constexpr std::chrono::seconds kAnswerTime{2};  // a daemon that is stopped is done without
constexpr int kMostReads = 4;  // while it is being written

const AdapterPage* map_page(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  if (status.st_size != sizeof(AdapterPage)) throw std::runtime_error(path + " is of another version");
  void* mapped = mmap(nullptr, sizeof(AdapterPage), PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw std::runtime_error(path + ": " + std::strerror(errno));
  const auto* page = static_cast<const AdapterPage*>(mapped);
  if (page->version == AdapterPage::kVersion) return page;
  munmap(mapped, sizeof(AdapterPage));
  throw std::runtime_error(path + " is of another version");
}

}  // namespace

// The daemon answers when it counts the task among its own; it has made the page before.
std::unique_ptr<AdapterWatch> AdapterWatch::open_at(const std::string& folder) {
  daemon::ToolClient lamd(folder, kAnswerTime);
  const daemon::DaemonMessage answer = lamd.ask(daemon::FollowAdapters{}, kAnswerTime);
  if (!std::holds_alternative<daemon::AdaptersChanged>(answer))
    throw std::runtime_error("lamd's answer makes no sense");
  return std::unique_ptr<AdapterWatch>(new AdapterWatch(map_page(daemon::adapter_page(folder)), lamd.take_socket()));
}

std::unique_ptr<AdapterWatch> AdapterWatch::open(const std::string& folder, std::string& error) {
  try {
    const std::string path = folder.empty() ? daemon::session_path({}) : folder;
    // A universe of the batch job's own, else one that runs beside it: the adapters are the same.
    const std::string beside = folder.empty() ? daemon::session_path({.of_batch_job = false}) : folder;
    const bool has_own = path == beside || daemon::session_process(path) != 0;
    return open_at(has_own ? path : beside);
  } catch (const std::runtime_error& wrong) {
    error = wrong.what();
    return nullptr;
  }
}

AdapterWatch::AdapterWatch(const AdapterPage* page, FileDescriptor socket)
    : page_(page), lamd_(std::move(socket), std::make_unique<daemon::MessageStream>()) {}

AdapterWatch::~AdapterWatch() {
  munmap(const_cast<AdapterPage*>(page_), sizeof(AdapterPage));  // NOLINT: it takes no pointer to const
}

bool AdapterWatch::read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const {
  for (int tries = 0; tries < kMostReads; ++tries) {
    const std::uint32_t before = page_->changes.load(std::memory_order_acquire);
    const std::uint32_t count = page_->count.load(std::memory_order_acquire);
    if (before % 2 != 0 || count > AdapterPage::kMostPlaces) continue;
    places.resize(count);
    for (std::size_t n = 0; n < count; ++n) {
      std::array<std::uint32_t, AdapterPage::kWords> words{};
      for (std::size_t word = 0; word < words.size(); ++word) {
        words[word] = page_->places[n][word].load(std::memory_order_acquire);
      }
      places[n] = std::bit_cast<AdapterPlace>(words);
    }
    if (page_->changes.load(std::memory_order_relaxed) != before) continue;
    seen = before;
    return true;
  }
  return false;
}

bool AdapterWatch::drain() {
  const bool goes_on = lamd_.serve();
  while (lamd_.stream().next()) {
  }
  return goes_on;
}

// What the daemon has no room for now it will be told again.
void AdapterWatch::report(std::span<const std::uint8_t> here, std::span<const std::uint8_t> there) {
  if (lamd_.has_outgoing()) return;
  lamd_.send(daemon::PathReport{{here.begin(), here.end()}, {there.begin(), there.end()}});
  lamd_.flush();
}

}  // namespace openlapi
