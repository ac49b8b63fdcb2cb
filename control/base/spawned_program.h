// Starts a program beside this one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace openlapi {

// The program's standard streams: descriptors, or one of these.
struct SpawnedStreams {
  static constexpr int kInherited = -1;  // as this process has it
  static constexpr int kNowhere = -2;    // /dev/null, to write
  int input = kInherited;
  int output = kInherited;
  int errors = kInherited;
};

enum class SpawnedSession { kThis, kOwn };

// Returns 0 or an errno value. `words`: the program's name first, a null pointer last. A `program` without a slash is
// looked for in PATH.
int spawn_program(const char* program, char* const* words, const SpawnedStreams& streams, SpawnedSession session,
                  pid_t& process);

// The words as spawn_program and the exec functions want them; valid as long as `words`.
std::vector<char*> exec_words(const std::vector<std::string>& words);

}  // namespace openlapi
