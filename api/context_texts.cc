#include "api/context_texts.h"

#include <span>
#include <vector>

namespace openlapi {
namespace {

constexpr unsigned kSecondsForText = 10;  // it was published before the exchange

}  // namespace

bool publish_text(Bootstrap& bootstrap, std::string_view key, std::string_view text, std::string& reason) {
  return bootstrap.put(key, std::as_bytes(std::span(text)), reason);
}

bool published_text(Bootstrap& bootstrap, std::uint32_t task, std::string_view key, std::string& text,
                    std::string& reason) {
  std::vector<std::byte> value;
  if (!bootstrap.get(task, key, kSecondsForText, value, reason)) return false;
  text.assign(reinterpret_cast<const char*>(value.data()), value.size());
  return true;
}

std::uint32_t task_to_compare_with(const Bootstrap& bootstrap) {
  const std::uint32_t first_of_node = bootstrap.local_tasks().front();
  return bootstrap.rank() == first_of_node ? 0 : first_of_node;
}

bool is_said_by_another(Bootstrap& bootstrap, std::string_view key, std::string_view own) {
  std::string before, reason;
  return published_text(bootstrap, bootstrap.rank() - 1, key, before, reason) && before == own;
}

}  // namespace openlapi
