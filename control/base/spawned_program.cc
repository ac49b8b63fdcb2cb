#include "control/base/spawned_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace openlapi {
namespace {

void add_stream(posix_spawn_file_actions_t& actions, int descriptor, int stream) {
  if (descriptor == SpawnedStreams::kInherited) return;
  if (descriptor == SpawnedStreams::kNowhere) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, descriptor, stream);
  }
}

}  // namespace

int spawn_program(const char* program, char* const* words, const SpawnedStreams& streams, SpawnedSession session,
                  pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (session == SpawnedSession::kOwn) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  add_stream(actions, streams.input, STDIN_FILENO);
  add_stream(actions, streams.output, STDOUT_FILENO);
  add_stream(actions, streams.errors, STDERR_FILENO);
  const int error = posix_spawnp(&process, program, &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::vector<char*> exec_words(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace openlapi
