// Tests by name: TEST(name) { CHECK(...); }, and DRAWN(name) { ... } for what is drawn from the seeds first, first + 1 ...
// tests/cpp/test_main.cpp runs those of an executable, in the order of the file.
#pragma once
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace md_test {

inline int failures = 0;

inline void fail(const char* file, int line, const char* text, const char* why) {
  ++failures;
  std::cerr << file << ":" << line << ": " << text << ": " << why << "\n";
}

struct Test {
  const char* name;
  void (*run)();
};

struct Drawn {
  const char* name;
  void (*run)(uint32_t first, uint32_t count);
};

template <typename Row>
std::vector<Row>& all_of() {
  static std::vector<Row> rows;
  return rows;
}

template <typename Row>
struct Registration {
  explicit Registration(Row row) { all_of<Row>().push_back(row); }
};

}  // namespace md_test

#define TEST(name)                                                                               \
  static void test_##name();                                                                     \
  static const ::md_test::Registration<::md_test::Test> registered_##name({#name, test_##name}); \
  static void test_##name()

#define DRAWN(name)                                                                                     \
  static void draw_##name(uint32_t first, uint32_t count);                                              \
  static const ::md_test::Registration<::md_test::Drawn> registered_drawn_##name({#name, draw_##name}); \
  static void draw_##name(uint32_t first, uint32_t count)

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
