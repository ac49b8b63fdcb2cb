// show_help of etc_misc.h.
#include "control/boot/errors/help_messages.h"

#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "control/base/installed_programs.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/etc_misc.h"

namespace openlapi::boot {
namespace {

constexpr char kHelpFile[] = "lam-helpfile";

std::vector<std::string> help_files() {
  std::vector<std::string> files;
  const auto add = [&](const char* variable, const char* below) {
    const char* folder = std::getenv(variable);
    if (folder != nullptr && *folder != '\0') files.push_back(std::string(folder) + below + "/" + kHelpFile);
  };
  add("HOME", "");
  add("HOME", "/etc");
  add("LAMHELPDIR", "");
  add("LAMHOME", "/etc");
  add("TROLLIUSHOME", "/etc");
  const std::string own = own_settings();
  if (!own.empty()) files.push_back(own + "/" + kHelpFile);
  if (own != LAM_SYSCONF_FOLDER) files.push_back(std::string(LAM_SYSCONF_FOLDER) + "/" + kHelpFile);
  return files;
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '#';
}

// What stands for the words behind a %; `length` is that of these words, 0: they mean nothing.
std::string replacement(std::string_view behind, const std::vector<std::string>& arguments, int error,
                        std::size_t& length) {
  for (const std::string_view word : {"perror", "terror", "errno"}) {
    if (!behind.starts_with(word)) continue;
    length = word.size();
    return word == "errno" ? std::to_string(error) : std::strerror(error);
  }
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(behind.data(), behind.data() + behind.size(), number);
  length = failure == std::errc() ? static_cast<std::size_t>(end - behind.data()) : 0;
  return number >= 1 && number <= arguments.size() ? arguments[number - 1] : "";
}

bool find_in_files(const std::string& program, const std::string& topic, std::string& block) {
  for (const std::string& path : help_files()) {
    std::ostringstream text;
    if (std::ifstream file(path); file) text << file.rdbuf();
    if (find_help(text.str(), program, topic, block)) return true;
  }
  return false;
}

void show(const char* program, const char* topic, const std::vector<std::string>& arguments, int error) {
  const std::string program_name = program == nullptr ? "ALL" : program;
  const std::string topic_name = topic == nullptr ? "ALL" : topic;
  std::string block;
  if (find_in_files(program_name, topic_name, block)) {
    const std::string text = with_arguments(block, arguments, error);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  std::string line = program_name + ": " + topic_name;
  for (std::size_t n = 0; n < arguments.size(); ++n) line += (n == 0 ? ": " : ", ") + arguments[n];
  print_error(line);
}

}  // namespace

bool find_help(std::string_view text, const std::string& program, const std::string& topic, std::string& block) {
  const std::string wanted = "-*-" + program + ":" + topic + "-*-";
  std::istringstream lines{std::string(text)};
  bool found = false;
  block.clear();
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("-*-")) {
      if (found) return true;
      found = line.starts_with(wanted);
    } else if (found && !is_comment(line)) {
      block += line + "\n";
    }
  }
  return found;
}

std::string with_arguments(std::string_view block, const std::vector<std::string>& arguments, int error) {
  std::string text;
  for (std::size_t at = 0; at < block.size();) {
    std::size_t length = 0;
    const std::string other =
        block[at] == '%' ? replacement(block.substr(at + 1), arguments, error, length) : std::string();
    if (length == 0) {
      text += block[at++];
    } else {
      text += other;
      at += 1 + length;
    }
  }
  return text;
}

}  // namespace openlapi::boot

void show_help(const char* program, const char* topic, ...) {
  const int error = errno;
  std::va_list list;
  va_start(list, topic);
  openlapi::boot::catch_errors(0, [&] {
    std::vector<std::string> arguments;
    while (const char* argument = va_arg(list, const char*)) arguments.emplace_back(argument);
    openlapi::boot::show(program, topic, arguments, error);
    return 0;
  });
  va_end(list);
  errno = error;
}
