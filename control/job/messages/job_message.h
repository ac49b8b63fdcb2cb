// What lapirun and the helpers of a job's nodes (lamtasks) tell each other: the bodies of JobMessage
// (daemon_message.h).
//
//   to a helper     StartTasks       the first: the whole job, and so which tasks are this node's
//                   TaskSignal       for all tasks
//                   AskStandings     where the tasks stand
//                   AskPresence      whether it answers at all
//                   EndTasks         SIGTERM, and SIGKILL for those that do not follow
//                   TaskInput        for task 0; empty: the end
//                   OutputTaken      so many bytes of a stream have gone to whoever reads it
//                   OutputClosed     nobody reads it any more
//                   Returned         to Return: what was taken until then; what follows comes again
//                   ThroughLapirun   a daemon is lost: what helpers tell each other goes by lapirun from now on, and
//                                    what was not answered is asked again
//   to lapirun      TasksStarted     or TasksRefused; the tasks' process numbers
//                   TaskOutput       whole lines, or pieces of long ones
//                   HelperNote       a line to be shown
//                   TaskEnded, TaskAttended, TaskAborted
//                   InputTaken       more can come
//                   Present          to AskPresence
//                   TaskStandings    of all tasks of the node
//                   TasksFinished    all tasks have ended and all output was sent
//                   Return           a helper whose daemon is lost has come to lapirun itself; the first over this way
//   both ways       Confirmed        so many of the messages above were taken, of which Return and Returned are none
//                   Passed           what one helper tells others, by lapirun
//   among helpers   FenceData        all tasks here have come to this fence, and those of all nodes that report here
//                   FenceDone        what all nodes gave for it
//                   ModexRequest, ModexAnswer: what a task has put
//                   TaskEvent        what a task says of its adapters (adapter_event.h)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::jobs {

using daemon::MessageBytes;

inline constexpr std::size_t kLongestBody = 3 << 20;       // below kLongestMessage with what daemons put around it
inline constexpr std::uint32_t kOutputWindow = 512 << 10;  // bytes of either stream under way from one node
inline constexpr std::size_t kInputPiece = 32 << 10;

struct JobNode {
  std::uint32_t node = 0;
  std::string host{};
  std::vector<std::uint32_t> tasks{};  // ascending
  std::uint32_t reports_to = 0;        // another node of the job, to which its fences go; the node itself: to nobody
  bool operator==(const JobNode&) const = default;
};

// Where helpers find lapirun when a daemon on their way is lost.
struct ReturnAddress {
  std::uint32_t address = 0;  // IPv4, in host byte order
  std::uint32_t port = 0;     // 0: they cannot
  MessageBytes key{};         // of a daemon::SealedStream
  bool operator==(const ReturnAddress&) const = default;
};

struct StartTasks {
  static constexpr std::uint8_t kKind = 1;
  std::string name_space{};
  std::uint64_t cookie = 0;
  std::uint64_t packet_key = 0;
  std::uint8_t bind = 1;
  std::uint8_t report_bindings = 0;
  std::uint8_t outlive_daemons = 0;
  std::uint8_t is_of_lamexec = 0;
  ReturnAddress return_to{};
  std::string directory{};
  MessageBytes arguments{};    // the program's name first, each ended by a zero
  MessageBytes environment{};  // NAME=value, each ended by a zero
  std::vector<JobNode> nodes{};
  static void describe(auto& fields, auto& message) {
    fields.text(message.name_space);
    fields.wide(message.cookie);
    fields.wide(message.packet_key);
    fields.byte(message.bind);
    fields.byte(message.report_bindings);
    fields.byte(message.outlive_daemons);
    fields.byte(message.is_of_lamexec);
    fields.number(message.return_to.address);
    fields.number(message.return_to.port);
    fields.bytes(message.return_to.key);
    fields.text(message.directory);
    fields.bytes(message.arguments);
    fields.bytes(message.environment);
    fields.list(message.nodes, 16, [](auto& element, auto& node) {
      element.number(node.node);
      element.number(node.reports_to);
      element.text(node.host);
      element.list(node.tasks, 4, [](auto& each, auto& task) { each.number(task); });
    });
  }
  bool operator==(const StartTasks&) const = default;
};

struct TaskSignal {
  static constexpr std::uint8_t kKind = 2;
  std::uint32_t signal = 0;
  static void describe(auto& fields, auto& message) { fields.number(message.signal); }
  bool operator==(const TaskSignal&) const = default;
};

struct EndTasks {
  static constexpr std::uint8_t kKind = 3;
  static void describe(auto&, auto&) {}
  bool operator==(const EndTasks&) const = default;
};

struct AskStandings {
  static constexpr std::uint8_t kKind = 8;
  static void describe(auto&, auto&) {}
  bool operator==(const AskStandings&) const = default;
};

struct AskPresence {
  static constexpr std::uint8_t kKind = 9;
  static void describe(auto&, auto&) {}
  bool operator==(const AskPresence&) const = default;
};

struct Returned {
  static constexpr std::uint8_t kKind = 10;
  std::uint64_t taken = 0;
  static void describe(auto& fields, auto& message) { fields.wide(message.taken); }
  bool operator==(const Returned&) const = default;
};

struct ThroughLapirun {
  static constexpr std::uint8_t kKind = 11;
  static void describe(auto&, auto&) {}
  bool operator==(const ThroughLapirun&) const = default;
};

struct TaskInput {
  static constexpr std::uint8_t kKind = 4;
  MessageBytes bytes{};
  static void describe(auto& fields, auto& message) { fields.bytes(message.bytes); }
  bool operator==(const TaskInput&) const = default;
};

struct OutputTaken {
  static constexpr std::uint8_t kKind = 5;
  std::uint32_t bytes = 0;
  std::uint8_t is_errors = 0;
  static void describe(auto& fields, auto& message) {
    fields.number(message.bytes);
    fields.byte(message.is_errors);
  }
  bool operator==(const OutputTaken&) const = default;
};

struct OutputClosed {
  static constexpr std::uint8_t kKind = 7;
  std::uint8_t is_errors = 0;
  static void describe(auto& fields, auto& message) { fields.byte(message.is_errors); }
  bool operator==(const OutputClosed&) const = default;
};

struct FenceDone {
  static constexpr std::uint8_t kKind = 6;
  std::vector<std::uint32_t> tasks{};  // that take part; empty: all
  MessageBytes data{};
  std::uint32_t round = 0;  // how many fences these tasks have had before
  static void describe(auto& fields, auto& message) {
    fields.list(message.tasks, 4, [](auto& element, auto& task) { element.number(task); });
    fields.bytes(message.data);
    fields.number(message.round);
  }
  bool operator==(const FenceDone&) const = default;
};

struct TasksStarted {
  static constexpr std::uint8_t kKind = 16;
  std::vector<std::uint32_t> processes{};  // in the order of the node's tasks
  static void describe(auto& fields, auto& message) {
    fields.list(message.processes, 4, [](auto& element, auto& process) { element.number(process); });
  }
  bool operator==(const TasksStarted&) const = default;
};

struct TasksRefused {
  static constexpr std::uint8_t kKind = 17;
  std::uint32_t status = 0;  // that lapirun is to end with
  std::string why{};
  static void describe(auto& fields, auto& message) {
    fields.number(message.status);
    fields.text(message.why);
  }
  bool operator==(const TasksRefused&) const = default;
};

struct TaskOutput {
  static constexpr std::uint8_t kKind = 18;
  std::uint32_t task = 0;
  std::uint8_t is_errors = 0;
  MessageBytes bytes{};  // not empty
  static void describe(auto& fields, auto& message) {
    fields.number(message.task);
    fields.byte(message.is_errors);
    fields.bytes(message.bytes);
  }
  bool operator==(const TaskOutput&) const = default;
};

struct HelperNote {
  static constexpr std::uint8_t kKind = 19;
  std::string text{};
  static void describe(auto& fields, auto& message) { fields.text(message.text); }
  bool operator==(const HelperNote&) const = default;
};

struct TaskEnded {
  static constexpr std::uint8_t kKind = 20;
  std::uint32_t task = 0;
  std::uint32_t process = 0;
  std::uint32_t exit_code = 0;
  std::uint32_t signal = 0;  // that killed it, or 0
  static void describe(auto& fields, auto& message) {
    fields.number(message.task);
    fields.number(message.process);
    fields.number(message.exit_code);
    fields.number(message.signal);
  }
  bool operator==(const TaskEnded&) const = default;
};

struct TaskAttended {
  static constexpr std::uint8_t kKind = 21;
  std::uint32_t task = 0;
  std::uint8_t connected = 0;
  static void describe(auto& fields, auto& message) {
    fields.number(message.task);
    fields.byte(message.connected);
  }
  bool operator==(const TaskAttended&) const = default;
};

struct TaskAborted {
  static constexpr std::uint8_t kKind = 22;
  std::uint32_t task = 0;
  std::uint32_t status = 0;
  std::string text{};
  static void describe(auto& fields, auto& message) {
    fields.number(message.task);
    fields.number(message.status);
    fields.text(message.text);
  }
  bool operator==(const TaskAborted&) const = default;
};

struct InputTaken {
  static constexpr std::uint8_t kKind = 23;
  static void describe(auto&, auto&) {}
  bool operator==(const InputTaken&) const = default;
};

struct FenceData {
  static constexpr std::uint8_t kKind = 24;
  std::vector<std::uint32_t> tasks{};
  MessageBytes data{};
  std::uint32_t round = 0;
  static void describe(auto& fields, auto& message) {
    fields.list(message.tasks, 4, [](auto& element, auto& task) { element.number(task); });
    fields.bytes(message.data);
    fields.number(message.round);
  }
  bool operator==(const FenceData&) const = default;
};

struct TasksFinished {
  static constexpr std::uint8_t kKind = 25;
  static void describe(auto&, auto&) {}
  bool operator==(const TasksFinished&) const = default;
};

struct TaskStandings {
  static constexpr std::uint8_t kKind = 26;
  static constexpr std::uint32_t kNoTime = UINT32_MAX;
  struct Task {
    std::uint32_t task = 0;
    std::uint32_t process = 0;
    std::uint32_t seconds = kNoTime;
    std::string where{};
    std::string why{};
    bool operator==(const Task&) const = default;
  };
  std::vector<Task> tasks{};
  static void describe(auto& fields, auto& message) {
    fields.list(message.tasks, 20, [](auto& element, auto& task) {
      element.number(task.task);
      element.number(task.process);
      element.number(task.seconds);
      element.text(task.where);
      element.text(task.why);
    });
  }
  bool operator==(const TaskStandings&) const = default;
};

struct Present {
  static constexpr std::uint8_t kKind = 27;
  static void describe(auto&, auto&) {}
  bool operator==(const Present&) const = default;
};

struct Return {
  static constexpr std::uint8_t kKind = 28;
  std::uint32_t node = 0;
  std::uint64_t taken = 0;
  static void describe(auto& fields, auto& message) {
    fields.number(message.node);
    fields.wide(message.taken);
  }
  bool operator==(const Return&) const = default;
};

struct Confirmed {
  static constexpr std::uint8_t kKind = 48;
  std::uint64_t taken = 0;  // in all
  static void describe(auto& fields, auto& message) { fields.wide(message.taken); }
  bool operator==(const Confirmed&) const = default;
};

struct Passed {
  static constexpr std::uint8_t kKind = 49;
  std::vector<std::uint32_t> nodes{};  // to lapirun: whom it is for; to a helper: the one whose it is
  MessageBytes body{};
  static void describe(auto& fields, auto& message) {
    fields.list(message.nodes, 4, [](auto& element, auto& node) { element.number(node); });
    fields.bytes(message.body);
  }
  bool operator==(const Passed&) const = default;
};

struct ModexRequest {
  static constexpr std::uint8_t kKind = 32;
  std::uint32_t request = 0;
  std::uint32_t task = 0;
  static void describe(auto& fields, auto& message) {
    fields.number(message.request);
    fields.number(message.task);
  }
  bool operator==(const ModexRequest&) const = default;
};

struct ModexAnswer {
  static constexpr std::uint8_t kKind = 33;
  std::uint32_t request = 0;
  std::uint32_t status = 0;  // libpmix's, as it is
  MessageBytes data{};
  static void describe(auto& fields, auto& message) {
    fields.number(message.request);
    fields.number(message.status);
    fields.bytes(message.data);
  }
  bool operator==(const ModexAnswer&) const = default;
};

struct TaskEvent {
  static constexpr std::uint8_t kKind = 34;
  std::uint32_t task = 0;
  MessageBytes event{};  // an AdapterEvent
  static void describe(auto& fields, auto& message) {
    fields.number(message.task);
    fields.bytes(message.event);
  }
  bool operator==(const TaskEvent&) const = default;
};

using JobBody =
    std::variant<StartTasks, TaskSignal, EndTasks, TaskInput, OutputTaken, OutputClosed, FenceDone, TasksStarted,
                 TasksRefused, TaskOutput, HelperNote, TaskEnded, TaskAttended, TaskAborted, InputTaken, FenceData,
                 TasksFinished, ModexRequest, ModexAnswer, AskStandings, TaskStandings, AskPresence, Present, TaskEvent,
                 Return, Returned, ThroughLapirun, Confirmed, Passed>;

// What helpers tell each other, and lapirun does not look into.
bool is_among_helpers(const JobBody& body);

MessageBytes encode(const JobBody& body);
// Nothing: no such body. In StartTasks the nodes have each task of the job once.
std::optional<JobBody> decode_body(std::span<const std::uint8_t> bytes);

// "a", "b" as "a\0b\0", and back; what has no zero behind it is left out.
MessageBytes pack_words(const std::vector<std::string>& words);
std::vector<std::string> unpack_words(const MessageBytes& bytes);

std::uint32_t task_count(const std::vector<JobNode>& nodes);

}  // namespace openlapi::jobs
