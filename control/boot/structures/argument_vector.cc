// sfh_argv_* of sfh.h.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "control/boot/include/sfh.h"

int sfh_argv_count(char** argv) {
  int count = 0;
  while (argv != nullptr && argv[count] != nullptr) ++count;
  return count;
}

int sfh_argv_add(int* argc, char*** argv, const char* word) {
  if (argc == nullptr || argv == nullptr || word == nullptr) return LAMERROR;
  const int count = sfh_argv_count(*argv);
  char* copy = strdup(word);
  auto** grown = static_cast<char**>(
      copy == nullptr ? nullptr : std::realloc(*argv, (static_cast<std::size_t>(count) + 2) * sizeof(char*)));
  if (grown == nullptr) {
    std::free(copy);
    return LAMERROR;
  }
  grown[count] = copy;
  grown[count + 1] = nullptr;
  *argv = grown;
  *argc = count + 1;
  return 0;
}

void sfh_argv_free(char** argv) {
  for (char** word = argv; word != nullptr && *word != nullptr; ++word) std::free(*word);
  std::free(argv);
}

namespace {

// An array without words, which is not the same as none.
char** empty_array() { return static_cast<char**>(std::calloc(1, sizeof(char*))); }

bool add(char**& array, int& count, const char* word) {
  if (array != nullptr && sfh_argv_add(&count, &array, word) == 0) return true;
  sfh_argv_free(array);
  array = nullptr;
  return false;
}

}  // namespace

char** sfh_argv_dup(char** argv) {
  if (argv == nullptr) return nullptr;
  int count = 0;
  char** copy = empty_array();
  for (char** word = argv; *word != nullptr; ++word) {
    if (!add(copy, count, *word)) return nullptr;
  }
  return copy;
}

char** sfh_argv_break(const char* words, int separator) {
  if (words == nullptr) return nullptr;
  int count = 0;
  char** pieces = empty_array();
  char* copy = strdup(words);
  char* begin = copy;
  bool more = copy != nullptr && separator != 0;
  while (more) {
    char* end = std::strchr(begin, separator);
    more = end != nullptr;
    if (more) *end = '\0';
    if (*begin != '\0' && !add(pieces, count, begin)) break;
    begin = more ? end + 1 : begin;
  }
  std::free(copy);
  return pieces;
}

char* sfh_argv_glue(char** argv, int separator, unsigned int limit) {
  if (argv == nullptr) return nullptr;
  std::size_t length = 0;
  for (char** word = argv; *word != nullptr; ++word) length += std::strlen(*word) + 1;
  auto* glued = static_cast<char*>(std::malloc(length + 1));
  if (glued == nullptr) return nullptr;
  char* end = glued;
  for (char** word = argv; *word != nullptr; ++word) {
    if (word != argv) *end++ = static_cast<char>(separator);
    end = stpcpy(end, *word);
  }
  *end = '\0';
  if (limit != 0 && static_cast<std::size_t>(end - glued) > limit) glued[limit] = '\0';
  return glued;
}
