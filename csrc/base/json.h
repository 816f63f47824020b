// Writing JSON: one object, built field by field.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace md {

// Returns a quoted string; invalid UTF-8 becomes U+FFFD, so the result is always valid.
std::string json_string(std::string_view text);
std::string json_list(std::span<const std::string> texts);

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text) { return add_json(key, json_string(text)); }
  JsonObject& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  JsonObject& add(std::string_view key, int64_t number) { return add_json(key, std::to_string(number)); }
  JsonObject& add(std::string_view key, int number) { return add(key, static_cast<int64_t>(number)); }
  JsonObject& add(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, std::span<const std::string> texts) { return add_json(key, json_list(texts)); }
  // Must be finite.
  JsonObject& add_seconds(std::string_view key, double seconds);
  // `json` is already encoded.
  JsonObject& add_json(std::string_view key, std::string_view json);

  std::string text() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

}  // namespace md
