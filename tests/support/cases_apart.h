// For tests of what a process can do only once: main() of a program that runs each of its cases in a process of its
// own.
#pragma once

namespace openlapi::test {

// The filter and all other options of GoogleTest hold. 0: all cases passed, and there was one at least.
int run_cases_apart(int count, char** words);

}  // namespace openlapi::test
