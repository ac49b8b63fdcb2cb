// The guide's standalone environment (chapter 16): the user says who each task is.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "control/base/most_tasks.h"
#include "control/client/bootstrap.h"
#include "control/client/shared_secret.h"
#include "dataplane/base/siphash.h"
#include "dataplane/base/whole_number.h"

namespace openlapi {
namespace {

struct Variable {
  const char* name;
  std::string allowed;
};

void refuse(const Variable& variable, std::string_view value, std::string& error) {
  error = std::string(variable.name) + "='" + std::string(value) + "' is not allowed: " + variable.allowed;
}

// Its bytes, eight to a word, and their number.
std::uint64_t cookie_of(std::string_view partition, const SipKey& secret) {
  std::vector<std::uint64_t> words((partition.size() + 7) / 8 + 1);
  std::memcpy(words.data(), partition.data(), partition.size());
  words.back() = partition.size();
  return siphash(secret, words);
}

class StandaloneBootstrap final : public Bootstrap {
 public:
  bool open(const ReadEnvironment& read, const std::optional<SecretPlace>& secret, std::string& error, bool& missing);

  std::string_view name() const override { return "standalone"; }
  std::uint32_t task() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_tasks_; }
  std::uint64_t job_cookie() const override { return key_.low; }
  SipKey packet_key() const override { return key_; }
  bool can_exchange() const override { return false; }
  bool put(std::string_view, std::span<const std::byte>, std::string& error) override { return alone(error); }
  bool exchange(std::string& error) override { return alone(error); }
  bool get(std::uint32_t, std::string_view, unsigned, std::vector<std::byte>&, std::string& error) override {
    return alone(error);
  }
  bool barrier(std::string& error) override { return alone(error); }
  void abort(int status, std::string_view) override {
    std::fflush(nullptr);
    _exit(status);
  }

 private:
  static bool alone(std::string& error) {
    error = "tasks started without a launcher (MP_CHILD) cannot exchange data";
    return false;
  }
  bool read_common_tasks(const char* text, std::string& error);

  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> local_tasks_;
  SipKey key_;  // the cookie, and what the packets' key has beyond it
};

// The value of a variable that must be set; null sets `missing`.
const char* read_required(const ReadEnvironment& read, const Variable& variable, std::string& error, bool& missing) {
  const char* value = read(variable.name);
  if (value != nullptr) return value;
  missing = true;
  error = std::string(variable.name) + " is not set; a task that no launcher started needs " + variable.allowed;
  return nullptr;
}

bool read_number(const ReadEnvironment& read, const Variable& variable, std::uint32_t low, std::uint32_t high,
                 std::uint32_t& number, std::string& error, bool& missing) {
  const char* value = read_required(read, variable, error, missing);
  if (value == nullptr) return false;
  const auto parsed = whole_number<std::uint32_t>(value);
  if (!parsed || *parsed < low || *parsed > high) {
    refuse(variable, value, error);
    return false;
  }
  number = *parsed;
  return true;
}

bool StandaloneBootstrap::open(const ReadEnvironment& read, const std::optional<SecretPlace>& secret,
                               std::string& error, bool& missing) {
  missing = false;
  const Variable procs{"MP_PROCS", "the number of tasks in the job, 1 to " + std::to_string(kMostTasks)};
  if (!read_number(read, procs, 1, kMostTasks, size_, error, missing)) return false;
  const Variable child{"MP_CHILD", "this task's number, 0 to " + std::to_string(size_ - 1) + " (MP_PROCS is " +
                                       std::to_string(size_) + ")"};
  if (!read_number(read, child, 0, size_ - 1, rank_, error, missing)) return false;
  const Variable partition{"MP_PARTITION", "a value that is the same for all tasks of the job, and not empty"};
  const char* key = read_required(read, partition, error, missing);
  if (key == nullptr) return false;
  if (*key == '\0') {
    refuse(partition, key, error);
    return false;
  }
  local_tasks_.assign(1, rank_);
  const char* common = read("MP_COMMON_TASKS");
  if (common != nullptr && !read_common_tasks(common, error)) return false;
  SipKey shared;
  if (secret && !read_shared_secret(secret->file, read("HOME"), shared, error)) return false;
  key_ = {cookie_of(key, shared), cookie_of(std::string(key) + ", packets", shared)};
  return true;
}

// "3:0:2:3": how many others are on this node, then who. The task itself is not listed; alone it is "0".
bool StandaloneBootstrap::read_common_tasks(const char* text, std::string& error) {
  std::vector<std::uint32_t> numbers;
  std::string_view rest(text);
  bool valid = true;
  while (valid) {
    const auto colon = rest.find(':');
    const auto number = whole_number<std::uint32_t>(rest.substr(0, colon));
    valid = number.has_value();
    if (valid) numbers.push_back(*number);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  valid = valid && numbers[0] == numbers.size() - 1;
  std::vector<std::uint32_t> tasks(1, rank_);
  if (valid) tasks.insert(tasks.end(), numbers.begin() + 1, numbers.end());
  std::sort(tasks.begin(), tasks.end());
  valid = valid && tasks.back() < size_ && std::adjacent_find(tasks.begin(), tasks.end()) == tasks.end();
  if (!valid) {
    const Variable common{"MP_COMMON_TASKS",
                          "the number of other tasks on this node and then each of them once, without this task, as in "
                          "3:0:2:3 for task 1; 0 for a task alone (this task is " +
                              std::to_string(rank_) + " of " + std::to_string(size_) + ")"};
    refuse(common, text, error);
    return false;
  }
  local_tasks_ = std::move(tasks);
  return true;
}

}  // namespace

std::shared_ptr<Bootstrap> open_standalone_bootstrap(const ReadEnvironment& read,
                                                     const std::optional<SecretPlace>& secret, std::string& error,
                                                     bool& missing) {
  auto bootstrap = std::make_shared<StandaloneBootstrap>();
  if (!bootstrap->open(read, secret, error, missing)) return nullptr;
  return bootstrap;
}

}  // namespace openlapi
