#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/config.h"
#include "base/error.h"
#include "base/inline_array.h"
#include "base/log.h"
#include "base/ref_count.h"
#include "check.h"

namespace {

using namespace md;

std::string logged;

void test_config() {
  uint64_t initial = config_fingerprint();
  CHECK(config_fingerprint() == initial);
  set_config("walk_limit", int64_t{5});
  CHECK(config().walk_limit == 5);
  CHECK(std::get<int64_t>(get_config("walk_limit")) == 5);
  CHECK(config_fingerprint() != initial);
  set_config("walk_limit", config_rows()[2].default_value);
  CHECK(config_fingerprint() == initial);
  set_config("verbose", true);
  CHECK(config_fingerprint() == initial);
  CHECK_THROWS(get_config("zzz"), Error, "minidynamo._dynamo.config.zzz does not exist");
  CHECK_THROWS(set_config("verbose", int64_t{1}), Error, "must be bool, not int");
  CHECK_THROWS(set_config("walk_limit", int64_t{-1}), Error, "must not be negative");
}

void test_environment() {
  setenv("MINIDYNAMO_SNAPSHOT_STRESS", "3", 1);
  load_config_from_environment();
  CHECK(config().snapshot_stress == 3);
  setenv("MINIDYNAMO_SNAPSHOT_STRESS", "three", 1);
  CHECK_THROWS(load_config_from_environment(), Error, "MINIDYNAMO_SNAPSHOT_STRESS must be a non-negative integer");
}

void test_log() {
  set_log_sink([](int artifact, const std::string& text) { logged += str_cat(artifact, ":", text, ";"); });
  log_event(LogArtifact::guards, "unseen");
  set_log_enabled(LogArtifact::guards, true);
  log_event(LogArtifact::guards, "seen");
  log_event(LogArtifact::recompiles, "unseen");
  log_warning("careful");
  CHECK(logged == str_cat(static_cast<int>(LogArtifact::guards), ":seen;-1:careful;"));
}

void test_error() {
  CHECK_THROWS(raise_op(ErrorKind::Value, "add", "sizes ", 2, " and ", 3), Error, "[add] sizes 2 and 3");
  CHECK_THROWS(raise_internal("/somewhere/csrc/base/x.cpp", 7, "why"), Error, "bug in minidynamo at base/x.cpp:7: why");
}

void test_inline_array() {
  auto shared = std::make_shared<int>(1);
  for (size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{5}, size_t{100}}) {
    InlineArray<std::shared_ptr<int>, 4> pointers(size);
    InlineArray<int, 4> numbers(size);
    CHECK(pointers.size() == size && numbers.span().size() == size);
    CHECK(std::all_of(pointers.begin(), pointers.end(), [](const auto& pointer) { return pointer == nullptr; }));
    CHECK(std::all_of(numbers.begin(), numbers.end(), [](int number) { return number == 0; }));
    for (auto& pointer : pointers) pointer = shared;
    CHECK(shared.use_count() == static_cast<long>(size) + 1);
  }
  CHECK(shared.use_count() == 1);
}

void test_ref_count() {
  RefCount count;
  CHECK(count.is_one());
  count.add();
  CHECK(!count.is_one());
  CHECK(!count.drop());
  CHECK(count.is_one());
  CHECK(count.drop());
}

}  // namespace

int main() {
  test_config();
  test_environment();
  test_log();
  test_error();
  test_inline_array();
  test_ref_count();
  return md_test::result();
}
