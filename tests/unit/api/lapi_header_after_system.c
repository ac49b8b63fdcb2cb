/* lapi.h after the headers of the C library that define uint, ulong, TRUE or FALSE themselves. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#define TRUE 1
#define FALSE 0

#include "api/include/lapi.h"

int system_headers_first_compiled(void);

int system_headers_first_compiled(void) {
  uint number = TRUE;
  ulong length = number;
  return length == 1;
}
