#include <unistd.h>
#include <algorithm>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/config.h"
#include "base/error.h"
#include "base/events.h"
#include "base/host_hooks.h"
#include "base/inline_array.h"
#include "base/inline_vector.h"
#include "base/log.h"
#include "base/ref_count.h"
#include "base/trace_file.h"
#include "check.h"

namespace {

using namespace md;

std::string logged;

TEST(config) {
  uint64_t initial = config_fingerprint();
  CHECK(config_fingerprint() == initial);
  set_config("walk_limit", int64_t{5});
  CHECK(config().walk_limit == 5);
  CHECK(std::get<int64_t>(get_config("walk_limit")) == 5);
  CHECK(config_fingerprint() != initial);
  set_config("walk_limit", Config().walk_limit);
  CHECK(config_fingerprint() == initial);
  set_config("verbose", true);
  CHECK(config_fingerprint() == initial);
  CHECK_THROWS(get_config("zzz"), Error, "minidynamo._dynamo.config.zzz does not exist");
  CHECK_THROWS(set_config("verbose", int64_t{1}), Error, "must be bool, not int");
  CHECK_THROWS(set_config("walk_limit", int64_t{-1}), Error, "must not be negative");
}

TEST(environment) {
  setenv("MINIDYNAMO_SNAPSHOT_STRESS", "3", 1);
  load_config_from_environment();
  CHECK(config().snapshot_stress == 3);
  setenv("MINIDYNAMO_SNAPSHOT_STRESS", "three", 1);
  CHECK_THROWS(load_config_from_environment(), Error, "MINIDYNAMO_SNAPSHOT_STRESS must be a non-negative integer");
}

TEST(log) {
  host_hooks.log_sink = [](int artifact, const std::string& text) { logged += str_cat(artifact, ":", text, ";"); };
  log_event(LogArtifact::guards, "unseen");
  set_log_enabled(LogArtifact::guards, true);
  log_event(LogArtifact::guards, "seen");
  log_event(LogArtifact::recompiles, "unseen");
  log_warning("careful");
  CHECK(logged == str_cat(static_cast<int>(LogArtifact::guards), ":seen;-1:careful;"));
  log_info("unseen");
  set_log_info_enabled(true);
  log_info("step");
  set_log_info_enabled(false);
  CHECK(logged == str_cat(static_cast<int>(LogArtifact::guards), ":seen;-1:careful;-2:step;"));
}

TEST(json) {
  CHECK(json_string("a\"b\\c\n\t\r\x01\x7f") == "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\"");
  CHECK(json_string("\xC3\xB6\xE2\x82\xAC\xF0\x9F\x98\x80") == "\"\xC3\xB6\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  // Truncated, overlong, a surrogate, past the end of Unicode, an invalid start byte.
  for (const char* bad : {"\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\xE0\x80\x80"})
    CHECK(json_string(bad).starts_with("\"\\ufffd"));
  std::vector<std::string> texts = {"a", "b"};
  CHECK(JsonObject().text() == "{}");
  CHECK(JsonObject().add("n", 3).add("yes", true).add("t", "x").add("l", texts).add_seconds("s", 1.5).text() ==
        "{\"n\": 3, \"yes\": true, \"t\": \"x\", \"l\": [\"a\", \"b\"], \"s\": 1.500000}");
}

std::string heard;

TEST(events) {
  CHECK(!events_wanted());
  emit_event(EventKind::graph, {1, 2}, JsonObject().add("unheard", true));
  host_hooks.event_listener = [](EventKind kind, const std::string& line) {
    heard += kEventRows[static_cast<int>(kind)].name + line;
  };
  CHECK(events_wanted());
  emit_event(EventKind::graph, {1, 2}, JsonObject().add("n", 3));
  host_hooks.event_listener = nullptr;
  CHECK(!events_wanted());
  CHECK(heard.starts_with("graph{\"time\": "));
  CHECK(heard.ends_with(", \"kind\": \"graph\", \"frame\": 1, \"compile_id\": \"1/2\", \"payload\": {\"n\": 3}}"));
}

TEST(trace_file) {
  std::string directory = str_cat(std::filesystem::temp_directory_path().string(), "/minidynamo_base_test_", getpid());
  set_trace_directory(directory, "1.0");
  CHECK(trace_path().empty());
  emit_event(EventKind::graph, {0, 0}, JsonObject());
  std::ifstream in(trace_path());
  std::string first, second, third;
  std::getline(in, first);
  std::getline(in, second);
  CHECK(first.find("\"process_start\"") != std::string::npos &&
        first.find("\"version\": \"1.0\"") != std::string::npos);
  CHECK(second.find("\"graph\"") != std::string::npos);
  CHECK(!std::getline(in, third));
  set_trace_directory("", "");
  CHECK(!events_wanted());
  std::filesystem::remove_all(directory);
  logged.clear();
  set_trace_directory("/dev/null/nowhere", "1.0");
  emit_event(EventKind::graph, {0, 0}, JsonObject());
  emit_event(EventKind::graph, {0, 0}, JsonObject());
  CHECK(logged.starts_with("-1:MINIDYNAMO_TRACE: cannot write to /dev/null/nowhere: "));
  CHECK(logged.find("MINIDYNAMO_TRACE", 5) == std::string::npos);
  CHECK(!events_wanted());
}

TEST(error) {
  CHECK_THROWS(raise_op(ErrorKind::Value, "add", "sizes ", 2, " and ", 3), Error, "[add] sizes 2 and 3");
  CHECK_THROWS(raise_internal("/somewhere/csrc/base/x.cpp", 7, "why"), Error, "bug in minidynamo at base/x.cpp:7: why");
}

TEST(inline_array) {
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

TEST(inline_vector) {
  auto shared = std::make_shared<int>(1);
  using Pointers = InlineVector<std::shared_ptr<int>, 4>;
  for (size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{5}, size_t{100}}) {
    Pointers pointers;
    for (size_t i = 0; i < size; ++i) pointers.push_back(shared);
    pointers.emplace_back();
    CHECK(pointers.size() == size + 1 && pointers[size] == nullptr);
    Pointers moved = std::move(pointers);
    CHECK(pointers.empty() && moved.size() == size + 1 && shared.use_count() == static_cast<long>(size) + 1);
    pointers.push_back(shared);
    pointers = std::move(moved);
    CHECK(moved.empty() && shared.use_count() == static_cast<long>(size) + 1);
    CHECK(
        std::all_of(pointers.begin(), pointers.begin() + size, [&](const auto& pointer) { return pointer == shared; }));
    pointers.truncate(size / 2);
    CHECK(pointers.size() == size / 2 && shared.use_count() == static_cast<long>(size / 2) + 1);
    Pointers roomy;
    roomy.reserve(size);
    roomy = std::move(pointers);
    CHECK(roomy.size() == size / 2);
  }
  CHECK(shared.use_count() == 1);
  InlineVector<int, 4> numbers;
  for (size_t count : {size_t{3}, size_t{2}, size_t{50}})
    std::fill_n(numbers.append(count), count, static_cast<int>(count));
  CHECK(numbers.size() == 55 && numbers[2] == 3 && numbers[4] == 2 && numbers[54] == 50);
}

TEST(ref_count) {
  RefCount count;
  CHECK(count.is_one());
  count.add();
  CHECK(!count.is_one());
  CHECK(!count.drop());
  CHECK(count.is_one());
  CHECK(count.drop());
}

}  // namespace
