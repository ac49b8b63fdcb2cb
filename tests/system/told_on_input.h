// What a program that goes on until it is told to end is told on its standard input.
#pragma once

#include <poll.h>
#include <unistd.h>

enum class Told { nothing, question, end };

// So far, since the last call. A line is a question; the end of the input is the end.
inline Told told_on_input() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) != 1) return Told::nothing;
  char line[100];
  return read(STDIN_FILENO, line, sizeof line) > 0 ? Told::question : Told::end;
}
