// A test is a main() that makes checks and returns md_test::result().
#pragma once
#include <exception>
#include <iostream>
#include <string>

namespace md_test {

inline int failures = 0;

inline void fail(const char* file, int line, const char* text, const char* why) {
  ++failures;
  std::cerr << file << ":" << line << ": " << text << ": " << why << "\n";
}

inline int result() { return failures == 0 ? 0 : 1; }

}  // namespace md_test

#define CHECK(condition)                                                             \
  do {                                                                               \
    try {                                                                            \
      if (!(condition)) ::md_test::fail(__FILE__, __LINE__, #condition, "is false"); \
    } catch (const std::exception& error) {                                          \
      ::md_test::fail(__FILE__, __LINE__, #condition, error.what());                 \
    }                                                                                \
  } while (false)

// The expression throws an exception of this type whose message contains the text.
#define CHECK_THROWS(expression, Type, text)                             \
  do {                                                                   \
    try {                                                                \
      (void)(expression);                                                \
      ::md_test::fail(__FILE__, __LINE__, #expression, "did not throw"); \
    } catch (const Type& error) {                                        \
      if (std::string(error.what()).find(text) == std::string::npos)     \
        ::md_test::fail(__FILE__, __LINE__, #expression, error.what());  \
    }                                                                    \
  } while (false)
