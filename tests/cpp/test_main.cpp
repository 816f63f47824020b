// Runs the tests of one executable:
//   graph_test                    all of them
//   graph_test passes verify      those whose names contain one of the texts
//   graph_test --list             prints their names
//   plan_test --drawn graphs 7 1  what is drawn from the seeds 7 to 7; names without a seed are listed with the tests
// Returns 1 if a check failed, 2 if nothing has such a name.
#include <cstring>

#include "check.h"

namespace {

using md_test::all_of;

bool is_asked_for(const md_test::Test& test, int argc, char** argv) {
  if (argc == 1) return true;
  for (int i = 1; i < argc; ++i)
    if (std::strstr(test.name, argv[i]) != nullptr) return true;
  return false;
}

void list() {
  for (const md_test::Test& test : all_of<md_test::Test>()) std::cout << test.name << "\n";
  for (const md_test::Drawn& drawn : all_of<md_test::Drawn>()) std::cout << "--drawn " << drawn.name << "\n";
}

int no_such_name() {
  std::cerr << "no test has such a name; these are there:\n";
  list();
  return 2;
}

template <typename Run>
void run_named(const char* name, Run run) {
  int before = md_test::failures;
  try {
    run();
  } catch (const std::exception& error) {
    md_test::fail(name, 0, "an exception", error.what());
  }
  if (md_test::failures != before) std::cerr << name << ": failed\n";
}

int run_drawn(const char* name, uint32_t first, uint32_t count) {
  for (const md_test::Drawn& drawn : all_of<md_test::Drawn>()) {
    if (std::strcmp(drawn.name, name) != 0) continue;
    run_named(name, [&] { drawn.run(first, count); });
    return md_test::failures == 0 ? 0 : 1;
  }
  return no_such_name();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    list();
    return 0;
  }
  if (argc == 5 && std::strcmp(argv[1], "--drawn") == 0)
    return run_drawn(argv[2], static_cast<uint32_t>(std::stoul(argv[3])), static_cast<uint32_t>(std::stoul(argv[4])));
  int run = 0;
  for (const md_test::Test& test : all_of<md_test::Test>()) {
    if (!is_asked_for(test, argc, argv)) continue;
    ++run;
    run_named(test.name, test.run);
  }
  if (run == 0) return no_such_name();
  std::cout << run << " tests, " << md_test::failures << " failures\n";
  return md_test::failures == 0 ? 0 : 1;
}
