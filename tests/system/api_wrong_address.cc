// Task 0 names memory that task 1 does not have, and task 1 is killed. Usage:
//   lapirun -n 2 api_wrong_address put|long|get|rmw
#include <sys/mman.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "lapi.h"

int main(int count, char** words) {
  const std::string_view operation = count > 1 ? words[1] : "";
  lapi_handle_t handle;
  lapi_info_t info{};
  info.lib_vers = LAST_LIB;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 3;
  int task = -1;
  LAPI_Qenv(handle, TASK_ID, &task);
  constexpr std::size_t kLength = 1 << 20;
  void* const nowhere = mmap(nullptr, kLength, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* places[2];
  LAPI_Address_init(handle, nowhere, places);
  if (task == 0) {
    std::printf("%p\n", places[1]);
    std::fflush(stdout);
    std::vector<char> data(kLength);
    int previous = 0, one = 1;
    if (operation == "put") LAPI_Put(handle, 1, 8, places[1], data.data(), nullptr, nullptr, nullptr);
    if (operation == "long") LAPI_Put(handle, 1, kLength, places[1], data.data(), nullptr, nullptr, nullptr);
    if (operation == "get") LAPI_Get(handle, 1, 8, places[1], data.data(), nullptr, nullptr);
    if (operation == "rmw") LAPI_Rmw(handle, FETCH_AND_ADD, 1, static_cast<int*>(places[1]), &one, &previous, nullptr);
    LAPI_Gfence(handle);
  } else {
    LAPI_Gfence(handle);
  }
  LAPI_Term(handle);
  return 0;
}
