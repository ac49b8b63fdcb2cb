// With it the algorithms over the callbacks of the selected module: lam_ssi_boot_base_alg_*.
#include "control/boot/modules/module_operations.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "control/base/sockets.h"
#include "control/boot/algorithms/algorithms.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/schemas/schema_words.h"
#include "control/boot/startup/boot_key.h"
#include "control/boot/startup/startup_messages.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/boot/tree/tree_link.h"
#include "control/sealing/universe_word.h"
#include "dataplane/base/byte_codec.h"
#include "dataplane/base/whole_number.h"

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

using Algorithm = int (*)(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                          int* num_started);

constexpr int kDefaultWindow = 5;
constexpr int kDefaultThreads = 16;  // ssh agents at a time; more only compete for this machine's processors
constexpr int kMostThreads = 512;
constexpr int kMostChildren = 4096;

// A parameter that may have several names: the first one that is set counts.
int parameter(std::initializer_list<const char*> names, int otherwise, int most) {
  for (const char* name : names) {
    const std::string variable = std::string("LAM_MPI_SSI_") + name;
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) continue;
    const auto number = whole_number(value, 1, most);
    if (!number) throw BootError(variable + " is " + shown(value) + "; allowed: 1 to " + std::to_string(most));
    return *number;
  }
  return otherwise;
}

bool clean_up_asked() {
  const char* value = std::getenv("LAM_MPI_SSI_boot_base_cleanup");
  const std::string text = value == nullptr ? "0" : value;
  if (text != "0" && text != "1") {
    throw BootError("LAM_MPI_SSI_boot_base_cleanup is " + shown(text) + "; allowed: 0, 1");
  }
  return text == "1";
}

const lam_ssi_boot_actions_1_1_0_t& usable_actions(bool startup_protocol) {
  const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
  if (actions == nullptr) throw BootError("a boot algorithm was called before a boot module was selected");
  const auto need = [](bool is_there, const char* name) {
    if (!is_there) {
      throw BootError(std::string("boot module ") + lam_ssi_boot_selected_name() + " uses an algorithm and has no " +
                      name);
    }
  };
  need(actions->lsba_start_rte_proc != nullptr, "lsba_start_rte_proc");
  if (!startup_protocol) return *actions;
  need(actions->lsba_open_srv_connection != nullptr, "lsba_open_srv_connection");
  need(actions->lsba_receive_lamd_info != nullptr, "lsba_receive_lamd_info");
  need(actions->lsba_close_srv_connection != nullptr, "lsba_close_srv_connection");
  need(actions->lsba_send_universe_info != nullptr, "lsba_send_universe_info");
  return *actions;
}

TopologyOrigin origin_of(const BootRequest& request) {
  for (int n = 0; n < request.count; ++n) {
    const lamnode& node = request.nodes[n];
    if (node.lnd_nodeid != NOTNODEID && (node.lnd_type & NT_ORIGIN) != 0) {
      return {node.lnd_nodeid, topology_host(node)};
    }
  }
  return {};
}

// Without helpers, where the module cannot start any, from this process alone.
BootReport run_tree(const BootRequest& request, ModuleOperations& operations, int at_once) {
  const int below = static_cast<int>(nodes_to_boot(request).size());
  const int degree = parameter({"boot_base_tree_degree"}, tree_degree(below, at_once), kMostChildren);
  if (operations.can_start_helpers()) return boot_tree(request, operations, {degree, at_once});
  return at_once == 1 ? boot_linear(request, operations) : boot_threaded(request, operations, at_once);
}

template <typename Boot>
int run(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which, int* num_started,
        Boot&& boot) {
  return catch_errors(LAMERROR, [&] {
    if (num_started == nullptr || nnodes < 0 || (nodes == nullptr && nnodes > 0)) {
      throw BootError("a boot algorithm got NULL, or " + std::to_string(nnodes) + " nodes");
    }
    *num_started = 0;
    const bool startup_protocol = want_startup_protocol != 0;
    // What this process ends from now on is what it has booted, and nothing beside it.
    if (which == LAM_SSI_BOOT_PROC_LAMD) setenv(kUniverseVariable, sealing::universe_word(boot_key()).c_str(), 1);
    const BootRequest request{nodes, nnodes, startup_protocol, which, clean_up_asked()};
    ModuleOperations operations(usable_actions(startup_protocol), request, origin_of(request));
    const BootReport report = boot(request, operations);
    *num_started = report.started;
    return report.complete ? 0 : LAMERROR;
  });
}

// The one that LAM_MPI_SSI_boot_base_algorithm names, else `otherwise`; daemons with the startup protocol.
int boot_as_asked(Algorithm otherwise, lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return catch_errors(LAMERROR, [&] {
    const char* value = std::getenv("LAM_MPI_SSI_boot_base_algorithm");
    const std::string name = value == nullptr ? "" : value;
    Algorithm algorithm = otherwise;
    if (name == "linear") {
      algorithm = lam_ssi_boot_base_alg_linear;
    } else if (name == "linear_windowed") {
      algorithm = lam_ssi_boot_base_alg_linear_windowed;
    } else if (name == "thread") {
      algorithm = lam_ssi_boot_base_alg_thread;
    } else if (name == "tree") {
      algorithm = lam_ssi_boot_base_alg_tree;
    } else if (!name.empty()) {
      throw BootError("LAM_MPI_SSI_boot_base_algorithm is " + shown(name) +
                      "; allowed: linear, linear_windowed, thread, tree");
    }
    return algorithm(nodes, nnodes, which == LAM_SSI_BOOT_PROC_LAMD ? 1 : 0, which, num_started);
  });
}

}  // namespace

int boot_threaded_unless_asked(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return boot_as_asked(lam_ssi_boot_base_alg_thread, nodes, nnodes, which, num_started);
}

int boot_windowed_unless_asked(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return boot_as_asked(lam_ssi_boot_base_alg_linear_windowed, nodes, nnodes, which, num_started);
}

bool ModuleOperations::start(lamnode& node, lam_ssi_boot_proc_t which) {
  return actions_.lsba_start_rte_proc(&node, which) == 0;
}

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

using namespace openlapi::boot;

int lam_ssi_boot_base_alg_linear(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                                 int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) { return boot_linear(request, operations); });
}

int lam_ssi_boot_base_alg_linear_windowed(lamnode* nodes, int nnodes, int want_startup_protocol,
                                          lam_ssi_boot_proc_t which, int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) {
               const int window = parameter({"boot_base_linear_win_size", "boot_base_window_size"}, kDefaultWindow,
                                            std::numeric_limits<int>::max());
               return boot_windowed(request, operations, window);
             });
}

int lam_ssi_boot_base_alg_tree(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                               int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) { return run_tree(request, operations, 1); });
}

int lam_ssi_boot_base_alg_thread(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                                 int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) {
               const int threads = parameter({"boot_base_thread_count"}, kDefaultThreads, kMostThreads);
               return run_tree(request, operations, threads);
             });
}
