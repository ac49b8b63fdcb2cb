// A library whose function faults where it is told to.
extern "C" [[gnu::visibility("default")]] void write_byte(volatile char* place) { *place = 1; }
