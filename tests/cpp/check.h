// A test is a main() that makes checks and returns md_test::result().
#pragma once
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace md_test {

inline int failures = 0;

inline void fail(const char* file, int line, const char* text, const char* why) {
  ++failures;
  std::cerr << file << ":" << line << ": " << text << ": " << why << "\n";
}

inline int result() { return failures == 0 ? 0 : 1; }

// What the command line asks for instead of the test: WHAT FIRST COUNT, of what is drawn from the seeds.
struct Drawn {
  std::string what;
  uint32_t first, count;
};

inline std::optional<Drawn> asked_for(int argc, char** argv) {
  if (argc != 4) return std::nullopt;
  return Drawn{argv[1], static_cast<uint32_t>(std::stoul(argv[2])), static_cast<uint32_t>(std::stoul(argv[3]))};
}

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
