#include "api/info/narrow_programs.h"

#include <elf.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace openlapi::info {
namespace {

// _exit(0) by the kernel's 32-bit entry: mov $1,%eax; xor %ebx,%ebx; int $0x80.
constexpr std::array<std::uint8_t, 9> kCode = {0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80};
constexpr std::uint32_t kLoadAddress = 0x08048000;
constexpr unsigned kMadeToRun = 0x10;  // MFD_EXEC; older headers have no name for it

struct Program {
  Elf32_Ehdr header{};
  Elf32_Phdr segment{};
  std::array<std::uint8_t, kCode.size()> code = kCode;
};

Program make_program() {
  Program program;
  Elf32_Ehdr& header = program.header;
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_386;
  header.e_version = EV_CURRENT;
  header.e_entry = kLoadAddress + offsetof(Program, code);
  header.e_phoff = offsetof(Program, segment);
  header.e_ehsize = sizeof(Elf32_Ehdr);
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  program.segment = {.p_type = PT_LOAD,
                     .p_offset = 0,
                     .p_vaddr = kLoadAddress,
                     .p_paddr = kLoadAddress,
                     .p_filesz = sizeof(Program),
                     .p_memsz = sizeof(Program),
                     .p_flags = PF_R | PF_X,
                     .p_align = 4096};
  return program;
}

bool refused(std::string& reason, int error) {
  reason = std::strerror(error);
  return false;
}

// `file` is the program's.
bool runs(int file, std::string& reason) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  char* const arguments[] = {const_cast<char*>("narrow"), nullptr};
  char* const environment[] = {nullptr};
  pid_t child = 0;
  if (const int error = posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments, environment); error != 0) {
    return refused(reason, error);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return refused(reason, errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  reason = WIFSIGNALED(status) ? std::string("it is ended by signal ") + strsignal(WTERMSIG(status))
                               : "it ends with status " + std::to_string(WEXITSTATUS(status));
  return false;
}

}  // namespace

bool runs_narrow_programs(std::string& reason) {
  // Where vm.memfd_noexec is not 0 only a file that is made to be run can be; a kernel before 6.3 knows no such demand.
  int file = static_cast<int>(syscall(SYS_memfd_create, "narrow", kMadeToRun));
  if (file < 0 && errno == EINVAL) file = static_cast<int>(syscall(SYS_memfd_create, "narrow", 0));
  if (file < 0 && errno == EACCES) {
    reason = "vm.memfd_noexec is 2: none can be tried";
    return false;
  }
  if (file < 0) return refused(reason, errno);
  const Program program = make_program();
  const bool result = write(file, &program, sizeof program) == sizeof program ? runs(file, reason)
                                                                              : refused(reason, errno);
  close(file);
  return result;
}

}  // namespace openlapi::info
