#include "base/config.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/error.h"

namespace md {
namespace {

// A table row and accessors for its field.
struct Field {
  ConfigValue (*read)(const Config&);
  void (*write)(Config&, const ConfigValue&);
};

constexpr Field kFields[] = {
#define MD_FLAG(type, name, default_value, env, affects_capture, doc)  \
  {[](const Config& c) -> ConfigValue { return ConfigValue(c.name); }, \
   [](Config& c, const ConfigValue& value) { c.name = std::get<Config::type_##type>(value); }},
#include "base/config_flags.def"
#undef MD_FLAG
};

// In the order of the alternatives of ConfigValue.
constexpr const char* kTypeNames[] = {"bool", "int", "str"};

size_t find_row(std::string_view name) {
  const std::vector<ConfigRow>& rows = config_rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (name == rows[i].name) return i;
  }
  raise(ErrorKind::Attribute, "minidynamo._dynamo.config.", name, " does not exist");
}

std::string capture_settings() {
  std::string settings;
  for (size_t i = 0; i < config_rows().size(); ++i) {
    if (!config_rows()[i].affects_capture) continue;
    std::visit([&](const auto& value) { settings += str_cat(value, '\n'); }, kFields[i].read(config()));
  }
  return settings;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (std::string_view word : {"1", "true", "yes", "on"}) {
    if (text == word) return true;
  }
  for (std::string_view word : {"", "0", "false", "no", "off"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

ConfigValue parse_environment(const ConfigRow& row, std::string_view text) {
  if (std::holds_alternative<bool>(row.default_value)) {
    if (std::optional<bool> value = parse_bool(text)) return *value;
    raise(ErrorKind::Value, row.env, " must be 0 or 1, got '", text, "'");
  }
  if (std::holds_alternative<int64_t>(row.default_value)) {
    if (std::optional<int64_t> value = parse_count(text)) return *value;
    raise(ErrorKind::Value, row.env, " must be a non-negative integer, got '", text, "'");
  }
  return std::string(text);
}

// Mixed into every fingerprint; bumping it invalidates all earlier ones.
int64_t generation = 0;

// Settings seen before keep their number, so switching back restores the earlier fingerprint.
uint64_t intern_settings() {
  static std::map<std::string, uint64_t> known;
  return known.try_emplace(str_cat(capture_settings(), generation), known.size()).first->second;
}

uint64_t current_fingerprint = intern_settings();

}  // namespace

Config& config() {
  static Config instance;
  return instance;
}

size_t most_sized_bytes() { return static_cast<size_t>(std::max<int64_t>(config().sized_plans_nbytes, 0)) / 2; }

const std::vector<ConfigRow>& config_rows() {
  static const std::vector<ConfigRow> rows = {
#define MD_FLAG(type, name, default_value, env, affects_capture, doc) \
  {#name, #type, env, affects_capture, doc, ConfigValue(Config::type_##type(default_value))},
#include "base/config_flags.def"
#undef MD_FLAG
  };
  return rows;
}

ConfigValue get_config(std::string_view name) { return kFields[find_row(name)].read(config()); }

void set_config(std::string_view name, const ConfigValue& value) {
  size_t index = find_row(name);
  const ConfigRow& row = config_rows()[index];
  if (value.index() != row.default_value.index()) {
    raise(ErrorKind::Type, "minidynamo._dynamo.config.", name, " must be ", row.type, ", not ",
          kTypeNames[value.index()]);
  }
  if (const int64_t* count = std::get_if<int64_t>(&value); count != nullptr && *count < 0) {
    raise(ErrorKind::Value, "minidynamo._dynamo.config.", name, " must not be negative, got ", *count);
  }
  kFields[index].write(config(), value);
  if (row.affects_capture) current_fingerprint = intern_settings();
}

void load_config_from_environment() {
  for (const ConfigRow& row : config_rows()) {
    if (row.env == nullptr) continue;
    if (const char* text = std::getenv(row.env)) set_config(row.name, parse_environment(row, text));
  }
}

uint64_t config_fingerprint() { return current_fingerprint; }

void renew_config_fingerprints() {
  ++generation;
  current_fingerprint = intern_settings();
}

}  // namespace md
