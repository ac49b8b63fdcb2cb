// The options of daemons and tools, over OPT of the boot SSI (all_opt.h), whose modules ask for them too.
#pragma once

#include <string>
#include <vector>

#include "control/boot/include/all_opt.h"
#include "control/daemon/session/session_folder.h"

namespace openlapi::daemon {

class BootOptions {
 public:
  BootOptions() : options_(ao_init()) {}
  ~BootOptions() { ao_free(options_); }
  BootOptions(const BootOptions&) = delete;
  BootOptions& operator=(const BootOptions&) = delete;

  // Options without a parameter, as single letters or as names; with one; with a number.
  void add_flags(const char* letters) { ao_setopt1(options_, letters, nullptr, 0, 0); }
  void add_words(std::initializer_list<const char*> names);
  void add_values(std::initializer_list<const char*> names);
  void add_numbers(std::initializer_list<const char*> names);
  // -ssi KEY VALUE, any number of times; -sessionprefix, -sessionsuffix.
  void add_common();

  // False: a mistake, which was printed. Puts -ssi into the environment, where the boot SSI looks.
  bool parse(int count, char** words);

  bool has(const char* name) const { return ao_taken(options_, name) != 0; }
  std::string value(const char* name) const;
  // The words that are no option and no option's parameter.
  std::vector<std::string> plain_words() const;
  // Throw std::invalid_argument if there are fewer or more such words, or one is empty; if the option's value is not in
  // this range.
  void check_words(std::size_t least, std::size_t most, const std::string& what) const;
  void check_number(const char* name, int least, int most) const;
  SessionName session_name() const { return {value("sessionprefix"), value("sessionsuffix")}; }
  OPT* get() const { return options_; }

 private:
  bool set_parameters();
  OPT* options_;
};

}  // namespace openlapi::daemon
