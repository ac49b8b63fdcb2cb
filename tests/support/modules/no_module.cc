// A library with a module's name that is none.
extern "C" __attribute__((visibility("default"))) int openlapi_no_module;
int openlapi_no_module = 1;
