/* Never called: it refers to MPI_Cancel. */
extern int MPI_Cancel(void* request);

__attribute__((visibility("default"))) int cancel_it(void* request);
int cancel_it(void* request) { return MPI_Cancel(request); }
