#include "api/wiring/mpi_library.h"

#include <dlfcn.h>
#include <link.h>

#include <charconv>
#include <vector>

namespace openlapi {
namespace {

// MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH, 256 in Open MPI.
constexpr std::size_t kLongestVersion = 16384;

// 0: not there, or no number.
std::uint32_t number_in(const char* text) {
  std::uint32_t number = 0;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), number);
  return number;
}

constexpr std::string_view kIntels = "Intel";

// MPICH and what is made of it (Intel's, MVAPICH, Cray's) ask PMI, but where their configuration says PMIx. What is
// made of Open MPI has other names too (Fujitsu's).
bool asks_pmi(std::string_view library) {
  const auto says = [library](std::string_view word) { return library.find(word) != std::string_view::npos; };
  return (says("MPICH") || says("MVAPICH") || library.starts_with(kIntels)) && !says("pmix");
}

// Intel's is told when it starts.
bool is_told_pmix(std::string_view library, const ReadEnvironment& read) {
  const char* const asked = library.starts_with(kIntels) ? read("I_MPI_PMI") : nullptr;
  return asked != nullptr && std::string_view(asked) == "pmix";
}

std::uint32_t tasks_of_mpi(std::string_view library, const Bootstrap& bootstrap, const ReadEnvironment& read) {
  if (!asks_pmi(library) || is_told_pmix(library, read)) return bootstrap.name() == "pmix" ? bootstrap.size() : 1;
  const std::uint32_t tasks = number_in(read("PMI_SIZE"));
  return tasks == 0 ? 1 : tasks;
}

// Where Open MPI finds no launcher it becomes one: PMIx then tells of that one task, but the environment of the job's.
std::uint32_t tasks_of_job(const Bootstrap& bootstrap, const ReadEnvironment& read) {
  const std::uint32_t by_hand = read("MP_CHILD") != nullptr ? number_in(read("MP_PROCS")) : 0;
  return bootstrap.size() == 1 && by_hand != 0 ? by_hand : bootstrap.size();
}

constexpr const char* kGetLibraryVersion = "MPI_Get_library_version";  // may be called before MPI_Init

// Files of this process whose names begin as MPI libraries' do.
std::vector<std::string> loaded_mpi_libraries() {
  std::vector<std::string> names;
  const auto add = [](dl_phdr_info* info, std::size_t, void* all) {
    const std::string_view path = info->dlpi_name;
    if (path.substr(path.rfind('/') + 1).starts_with("libmpi"))
      static_cast<std::vector<std::string>*>(all)->emplace_back(path);
    return 0;
  };
  dl_iterate_phdr(add, &names);
  return names;
}

// Interpreters load it for themselves alone (RTLD_LOCAL): it is not among the program's names then.
void* find_get_library_version() {
  if (void* const found = dlsym(RTLD_DEFAULT, kGetLibraryVersion)) return found;
  for (const std::string& name : loaded_mpi_libraries()) {
    void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const found = dlsym(library, kGetLibraryVersion);
    dlclose(library);  // who has loaded it keeps it
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

std::string mpi_library() {
  using GetLibraryVersion = int (*)(char*, int*);
  const auto get = reinterpret_cast<GetLibraryVersion>(find_get_library_version());
  if (get == nullptr) return {};
  std::vector<char> text(kLongestVersion);
  int length = 0;
  if (get(text.data(), &length) != 0) return {};
  return text.data();
}

bool mpi_is_in_the_job(std::string_view library, const Bootstrap& bootstrap, const ReadEnvironment& read,
                       std::string& reason) {
  if (library.empty()) return true;
  const std::uint32_t job = tasks_of_job(bootstrap, read);
  const std::uint32_t mpi = tasks_of_mpi(library, bootstrap, read);
  if (job == mpi) return true;
  reason = "the program also has an MPI library, " + std::string(library.substr(0, library.find_first_of(",\n"))) +
           ", which does not join this job: MPI_COMM_WORLD would have " + std::to_string(mpi) +
           (mpi == 1 ? " task" : " tasks") + ", the job has " + std::to_string(job) + "; " +
           (asks_pmi(library) ? "use Open MPI, or start the tasks with that library's mpiexec as in lapi(7)"
                              : "start the tasks with lapirun without --standalone, mpirun or srun --mpi=pmix");
  return false;
}

}  // namespace openlapi
