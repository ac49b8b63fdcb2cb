// The members of std::string that unit_tests.h keeps from being made in every object.
#include <string>

#if defined(__GLIBCXX__) && !defined(__OPTIMIZE__)
template class std::basic_string<char>;
#endif
