/* LAM/MPI 7.1.4 gives the kernel empty parts of messages whose address was never set. Linux 6 refuses most of what may
 * lie there ("Bad address"), and with it many an MPI_Init, MPI_Comm_accept and MPI_Comm_connect. Loaded before libc,
 * this gives empty parts no address. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 16

static ssize_t call(long number, int file, const struct iovec* parts, int count) {
  struct iovec named[MOST];
  int n;
  if (count > MOST || count < 0) return syscall(number, file, parts, count);
  for (n = 0; n < count; ++n) {
    named[n] = parts[n];
    if (named[n].iov_len == 0) named[n].iov_base = NULL;
  }
  return syscall(number, file, named, count);
}

ssize_t writev(int file, const struct iovec* parts, int count) { return call(SYS_writev, file, parts, count); }

ssize_t readv(int file, const struct iovec* parts, int count) { return call(SYS_readv, file, parts, count); }
