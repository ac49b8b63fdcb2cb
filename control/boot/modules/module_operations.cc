#include "control/boot/modules/module_operations.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "control/base/byte_codec.h"
#include "control/base/sockets.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/startup/boot_key.h"
#include "control/boot/startup/startup_messages.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/boot/tree/tree_link.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kHelperTime{60};  // from its start to its call
constexpr std::chrono::seconds kSilence{30};     // of a helper that boots; also when it is stopped
constexpr int kBacklog = 128;                    // who finds it full of strangers tries again soon

class HelperSubtree final : public Subtree {
 public:
  explicit HelperSubtree(TreeLink link) : link_(std::move(link)) {}

  std::optional<std::vector<NodeReport>> collect() override { return take(decode_reports); }
  bool tell_universe(const lamnode* universe, int count) override {
    return link_.send(encode_universe(universe, count));
  }
  std::optional<std::vector<int>> collect_told() override { return take(decode_told); }

 private:
  template <typename Result>
  std::optional<Result> take(std::optional<Result> (*decode)(std::span<const std::uint8_t>, ErrorLines&)) {
    const auto message = link_.receive(kSilence);
    ErrorLines lines;
    auto result = message ? decode(*message, lines) : std::nullopt;
    for (const std::string& line : lines) print_error(line);
    return result;
  }

  TreeLink link_;
};

// Waits for the helper of this node.
StartupConnection await_helper(StartupServer& server, const lamnode& node) {
  const bool promiscuous = is_promiscuous();
  StartupBytes expected;
  append_number(expected, node.lnd_nodeid);
  const bool heard = server.receive(
      std::chrono::steady_clock::now() + kHelperTime,
      [&](const sockaddr_in& from) { return promiscuous || from.sin_addr.s_addr == node.lnd_addr.sin_addr.s_addr; },
      [&](const sockaddr_in&, const StartupBytes& bytes) { return bytes == expected; });
  if (!heard) {
    throw BootError("node " + name_of(node) + ": its helper, lamtree, was started and has not called within " +
                    std::to_string(kHelperTime.count()) + " s");
  }
  return server.take_connection();
}

// A helper that runs as another user (user=) logs in at hosts without one as the user who boots, not as its own.
void add_callers_name(std::vector<std::string>& words, const lamnode& helper) {
  if (helper.lnd_uname == nullptr || std::getenv("LAM_MPI_SSI_boot_rsh_username") != nullptr) return;
  if (const passwd* user = getpwuid(geteuid())) words.insert(words.end(), {"-ssi", "boot_rsh_username", user->pw_name});
}

}  // namespace

const lamnode* ModuleOperations::here() const {
  const lamnode* begin = request_.nodes;
  const lamnode* end = begin + request_.count;
  const lamnode* found = std::find_if(begin, end, [](const lamnode& node) {
    return is_valid(node) && (node.lnd_type & NT_ME) != 0 && node.lnd_addr.sin_addr.s_addr != 0;
  });
  return found == end ? nullptr : found;
}

std::vector<std::string> ModuleOperations::helper_words(const lamnode& node, int port) const {
  std::vector<std::string> words{"hboot", "lamtree"};
  add_common_options(words);
  for (const char* option : {"l", "x"}) {
    if (ao_taken(lam_ssi_boot_optd, option) != 0) words.push_back(std::string("-") + option);
  }
  const char* schema = ao_param(lam_ssi_boot_optd, "c", 0, 0);
  if (schema != nullptr) words.insert(words.end(), {"-c", schema});
  add_ssi_parameters(words);
  add_callers_name(words, node);
  words.insert(words.end(), {"-H", address_text(here()->lnd_addr.sin_addr), "-P", std::to_string(port), "-n",
                             std::to_string(node.lnd_nodeid)});
  return words;
}

std::unique_ptr<Subtree> ModuleOperations::start_helper(const std::vector<const lamnode*>& nodes,
                                                        const TreeShape& shape) {
  lamnode node = *nodes[0];
  StartupServer server(listening_address(request_.nodes, request_.count), kBacklog, boot_key(), StartupKind::kTree,
                       sizeof(std::uint32_t));
  std::vector<std::string> words = helper_words(node, server.port());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  char** argv = pointers.data();
  int argc = static_cast<int>(words.size());
  // Who fails has said why.
  if (actions_.lsba_start_application(&argv, &argc, 1, &node) != 1) return nullptr;
  TreeLink link(await_helper(server, node));
  if (!link.send(encode_job({origin_, request_.which, request_.startup_protocol, shape}, nodes))) {
    throw BootError("node " + name_of(node) + ": its helper was lost before it had its nodes");
  }
  return std::make_unique<HelperSubtree>(std::move(link));
}

}  // namespace openlapi::boot
