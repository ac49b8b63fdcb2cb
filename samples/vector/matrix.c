/* Two dimensions: the driver writes a block of its matrix into the middle of its buddy's with LAPI_Putv, one piece for
 * each row. The two matrices have rows of different lengths. */
#include "sample.h"

#define ROWS 8
#define COLUMNS 12
#define WIDE_ROWS 20
#define WIDE_COLUMNS 30
#define TOP 5
#define LEFT 7

static double matrix[ROWS][COLUMNS];
static double wide[WIDE_ROWS][WIDE_COLUMNS];

static int in_block(int row, int column) {
  return row >= TOP && row < TOP + ROWS && column >= LEFT && column < LEFT + COLUMNS;
}

int main(void) {
  void *from[ROWS], *to[ROWS];
  ulong sizes[ROWS];
  lapi_vec_t here = {LAPI_GEN_IOVECTOR, ROWS, from, sizes};
  lapi_vec_t there = {LAPI_GEN_IOVECTOR, ROWS, to, sizes};
  double* wide_of_buddy;
  lapi_cntr_t completed;
  int row, column;

  start();
  bzero(&completed, sizeof completed);
  wide_of_buddy = address_in_buddy(wide);
  if (driver) {
    for (row = 0; row < ROWS; ++row) {
      for (column = 0; column < COLUMNS; ++column) matrix[row][column] = 100 * (row + 1) + column;
      from[row] = matrix[row];
      to[row] = wide_of_buddy + (TOP + row) * WIDE_COLUMNS + LEFT;
      sizes[row] = sizeof matrix[row];
    }
    CALL(LAPI_Putv(handle, buddy, &there, &here, NULL, NULL, &completed));
    wait_for(&completed);
  }
  CALL(LAPI_Gfence(handle));
  for (row = 0; row < WIDE_ROWS; ++row) {
    for (column = 0; column < WIDE_COLUMNS; ++column) {
      const int written = !driver && in_block(row, column);
      CHECK(wide[row][column] == (written ? 100 * (row - TOP + 1) + column - LEFT : 0));
    }
  }
  finish("a block of a matrix");
  return 0;
}
