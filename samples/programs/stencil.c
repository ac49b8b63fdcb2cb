/* A stencil: each step makes every cell of a grid the mean of itself and its four neighbours. Each task has some
 * columns of the grid, and after each step puts its outermost ones into the margins of the tasks at its sides: a column
 * is a strided vector. The result is compared with that of one task alone, bit by bit.
 *
 * stencil [ROWS [COLUMNS [STEPS]]]: of each task (64, 64), and how many steps (200). Task 0 prints what a step took. */
#include <time.h>

#include "sample.h"

static int rows, columns; /* of a task, without margins */

/* A grid of any width, with a margin of one cell on all sides. */
static double* new_grid(int width) {
  double* const grid = (double*)calloc((size_t)(rows + 2) * (size_t)(width + 2), sizeof(double));
  CHECK(grid != NULL);
  return grid;
}
static double* cell(double* grid, int width, int row, int column) {
  return grid + (row + 1) * (width + 2) + column + 1;
}

static void fill(double* grid, int width, int first) {
  int row, column;
  for (row = 0; row < rows; ++row) {
    for (column = 0; column < width; ++column) {
      *cell(grid, width, row, column) = (double)((row * 31 + (first + column) * 17) % 101);
    }
  }
}

static void step(double* from, double* to, int width) {
  int row, column;
  for (row = 0; row < rows; ++row) {
    for (column = 0; column < width; ++column) {
      const double* const at = cell(from, width, row, column);
      *cell(to, width, row, column) = (at[0] + at[-1] + at[1] + at[-(width + 2)] + at[width + 2]) / 5;
    }
  }
}

/* A column of a task's grid, also one of the margins. `info` has what the vector refers to. */
static lapi_vec_t column_of(double* grid, int column, void** info) {
  lapi_vec_t vector;
  bzero(&vector, sizeof vector);
  info[0] = cell(grid, columns, 0, column);
  info[1] = (void*)sizeof(double);
  info[2] = (void*)((size_t)(columns + 2) * sizeof(double));
  vector.vec_type = LAPI_GEN_STRIDED_XFER;
  vector.num_vecs = (uint)rows;
  vector.info = info;
  return vector;
}

static void put_column(uint target, double* grid, int column, double* theirs, int margin, lapi_cntr_t* arrived,
                       lapi_cntr_t* sent) {
  void *here_info[3], *there_info[3];
  lapi_vec_t here = column_of(grid, column, here_info), there = column_of(theirs, margin, there_info);
  CALL(LAPI_Putv(handle, target, &there, &here, arrived, sent, NULL));
}

/* The grid goes round: the last task's right neighbour is the first one. */
static double* alone(int steps) {
  const int width = columns * tasks;
  double *now = new_grid(width), *next = new_grid(width);
  fill(now, width, 0);
  for (; steps > 0; --steps) {
    double* const last = now;
    int row;
    for (row = 0; row < rows; ++row) {
      *cell(now, width, row, -1) = *cell(now, width, row, width - 1);
      *cell(now, width, row, width) = *cell(now, width, row, 0);
    }
    step(now, next, width);
    now = next;
    next = last;
  }
  free(next);
  return now;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const int steps = argc > 3 ? atoi(argv[3]) : 200;
  double *grids[2], *expected, begin;
  void **theirs[2], **counters;
  lapi_cntr_t* arrived; /* from the left, from the right */
  lapi_cntr_t sent;
  int i, row, column;
  uint left, right;
  rows = argc > 1 ? atoi(argv[1]) : 64;
  columns = argc > 2 ? atoi(argv[2]) : 64;
  start();
  CHECK(rows > 0 && columns > 0 && steps >= 0);
  left = (uint)((task + tasks - 1) % tasks);
  right = (uint)((task + 1) % tasks);
  arrived = (lapi_cntr_t*)calloc(2, sizeof *arrived);
  counters = (void**)malloc((size_t)tasks * sizeof(void*));
  CHECK(arrived && counters);
  CALL(LAPI_Setcntr(handle, &sent, 0));
  for (i = 0; i < 2; ++i) {
    CALL(LAPI_Setcntr(handle, &arrived[i], 0));
    grids[i] = new_grid(columns);
    theirs[i] = (void**)malloc((size_t)tasks * sizeof(void*));
    CHECK(theirs[i]);
    CALL(LAPI_Address_init(handle, grids[i], theirs[i]));
  }
  CALL(LAPI_Address_init(handle, arrived, counters));
  fill(grids[0], columns, task * columns);

  CALL(LAPI_Gfence(handle));
  begin = seconds();
  for (i = 0; i < steps; ++i) {
    double* const now = grids[i % 2];
    /* A neighbour that is one step ahead puts into the other grid's margins: it has waited for ours of this step. */
    put_column(left, now, 0, (double*)theirs[i % 2][left], columns, (lapi_cntr_t*)counters[left] + 1, &sent);
    put_column(right, now, columns - 1, (double*)theirs[i % 2][right], -1, (lapi_cntr_t*)counters[right], &sent);
    wait_for(&arrived[0]);
    wait_for(&arrived[1]);
    CALL(LAPI_Waitcntr(handle, &sent, 2, NULL)); /* the columns may change again after the next step */
    step(now, grids[1 - i % 2], columns);
  }
  if (task == 0 && steps > 0) printf("%.2f us a step\n", (seconds() - begin) / steps * 1e6);

  expected = alone(steps);
  for (row = 0; row < rows; ++row) {
    for (column = 0; column < columns; ++column) {
      CHECK(*cell(grids[steps % 2], columns, row, column) ==
            *cell(expected, columns * tasks, row, task * columns + column));
    }
  }
  finish("a stencil");
  return 0;
}
