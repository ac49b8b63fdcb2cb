#include "control/daemon/adapters/adapter_page_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw std::runtime_error(path + ": " + std::strerror(error));
}

AdapterPlace place_of(std::uint32_t node, const AdapterStatus& adapter, const AdapterAddress& address) {
  AdapterPlace place;
  place.node = node;
  place.is_up = adapter.is_up() ? 1 : 0;
  place.is_port = adapter.kind == AdapterKind::kPort ? 1 : 0;
  place.length = static_cast<std::uint8_t>(address.bytes.size());
  place.prefix = address.prefix;
  std::ranges::copy(address.bytes, place.address.begin());
  return place;
}

std::vector<AdapterPlace> places_of(const std::map<std::uint32_t, NodeAdapters>& rows) {
  std::vector<AdapterPlace> places;
  for (const auto& [node, row] : rows) {
    for (const AdapterStatus& adapter : row.adapters) {
      for (const AdapterAddress& address : adapter.addresses) {
        if (places.size() < AdapterPage::kMostPlaces) places.push_back(place_of(node, adapter, address));
      }
    }
  }
  return places;
}

}  // namespace

// All of it is there from the beginning: a full file system is no reason to die later.
AdapterPageWriter::AdapterPageWriter(const std::string& path) {
  unlink(path.c_str());
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) refuse(path, errno);
  const int error = posix_fallocate(file.get(), 0, sizeof(AdapterPage));
  if (error != 0) refuse(path, error);
  void* mapped = mmap(nullptr, sizeof(AdapterPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) refuse(path, errno);
  page_ = static_cast<AdapterPage*>(mapped);
  page_->version = AdapterPage::kVersion;
}

AdapterPageWriter::~AdapterPageWriter() { munmap(page_, sizeof(AdapterPage)); }

bool AdapterPageWriter::write(const std::map<std::uint32_t, NodeAdapters>& rows) {
  std::vector<AdapterPlace> places = places_of(rows);
  if (places == places_) return false;
  places_ = std::move(places);
  const std::uint32_t before = page_->changes.load(std::memory_order_relaxed);
  page_->changes.store(before + 1,
                       std::memory_order_relaxed);  // whoever sees a word that is written now sees this, too
  for (std::size_t n = 0; n < places_.size(); ++n) {
    const auto words = std::bit_cast<std::array<std::uint32_t, AdapterPage::kWords>>(places_[n]);
    for (std::size_t word = 0; word < words.size(); ++word) {
      page_->places[n][word].store(words[word], std::memory_order_release);
    }
  }
  page_->count.store(static_cast<std::uint32_t>(places_.size()), std::memory_order_release);
  page_->changes.store(before + 2, std::memory_order_release);
  return true;
}

}  // namespace openlapi::daemon
