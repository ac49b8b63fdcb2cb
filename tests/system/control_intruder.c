/* A process that joins a job as a task of it would, with the environment that it is given: status 0, or libpmix refused
   it. It stays until its standard input ends. INTRUDER_CLAIMS: the user number that it claims to have, if it lies
   (libpmix asks these functions). */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uid_t claimed(long true_number) {
  const char* claims = getenv("INTRUDER_CLAIMS");
  return (uid_t)(claims == NULL ? true_number : atol(claims));
}

__attribute__((visibility("default"))) uid_t geteuid(void) { return claimed(syscall(SYS_geteuid)); }
__attribute__((visibility("default"))) uid_t getuid(void) { return claimed(syscall(SYS_getuid)); }
__attribute__((visibility("default"))) gid_t getegid(void) { return claimed(syscall(SYS_getegid)); }
__attribute__((visibility("default"))) gid_t getgid(void) { return claimed(syscall(SYS_getgid)); }

int main(void) {
  pmix_proc_t task;
  const pmix_status_t status = PMIx_Init(&task, NULL, 0);
  printf("%s\n", status == PMIX_SUCCESS ? "joined" : PMIx_Error_string(status));
  fflush(stdout);
  while (status == PMIX_SUCCESS && getchar() != EOF) {
  }
  _exit(status == PMIX_SUCCESS ? 0 : 1);
}
