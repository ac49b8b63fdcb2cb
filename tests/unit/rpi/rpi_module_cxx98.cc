// The module of rpi_module.c, with interface 1.1.0.
#define LAM_SSI_RPI_1_1_0
#define TRY_NAME newer
#include "tests/unit/rpi/rpi_module.c"
