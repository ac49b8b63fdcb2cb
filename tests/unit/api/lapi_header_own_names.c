/* Published programs have variables of these names, which lapi.h leaves to them. */
#include "api/include/lapi.h"

static int MAX_TASKS = 4, MAX_NODES = 3, MAX_SHM_TASKS = 2, MAX_SLOTS_PER_TASK = 1;

int own_names_compiled(void);
int own_names_compiled(void) { return MAX_TASKS + MAX_NODES + MAX_SHM_TASKS + MAX_SLOTS_PER_TASK == 10; }
