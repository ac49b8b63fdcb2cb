/* Strides: the driver writes a column of its matrix into a row of its buddy's with LAPI_Putv. LAPI_GEN_STRIDED_XFER
 * describes any number of blocks with three numbers; the strides of the two sides may differ. The origin counter says
 * when the matrix may be changed, the completion counter when the buddy has the data. */
#include "sample.h"

#define SIZE 100
#define COLUMN 17
#define ROW 42

static double matrix[SIZE][SIZE];

int main(void) {
  void *from[3], *to[3];
  lapi_vec_t here = {LAPI_GEN_STRIDED_XFER, SIZE, from, NULL};
  lapi_vec_t there = {LAPI_GEN_STRIDED_XFER, SIZE, to, NULL};
  double* matrix_of_buddy;
  lapi_cntr_t reusable, completed;
  int row, column;

  start();
  bzero(&reusable, sizeof reusable);
  bzero(&completed, sizeof completed);
  matrix_of_buddy = address_in_buddy(matrix);
  if (driver) {
    for (row = 0; row < SIZE; ++row) matrix[row][COLUMN] = row + 1;
    from[0] = &matrix[0][COLUMN];             /* where the first block lies */
    from[1] = (void*)sizeof(double);          /* how long a block is */
    from[2] = (void*)(SIZE * sizeof(double)); /* from one block to the next */
    to[0] = matrix_of_buddy + ROW * SIZE;
    to[1] = (void*)sizeof(double);
    to[2] = (void*)sizeof(double);
    CALL(LAPI_Putv(handle, buddy, &there, &here, NULL, &reusable, &completed));
    wait_for(&reusable);
    bzero(matrix, sizeof matrix);
    wait_for(&completed);
  }
  CALL(LAPI_Gfence(handle));
  for (row = 0; row < SIZE; ++row) {
    for (column = 0; column < SIZE; ++column) {
      CHECK(matrix[row][column] == (!driver && row == ROW ? column + 1 : 0));
    }
  }
  finish("a column that becomes a row");
  return 0;
}
