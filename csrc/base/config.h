// Configuration: one struct, one field per row of config_flags.def.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace md {

using ConfigValue = std::variant<bool, int64_t, std::string>;

struct Config {
  // Field types by their name in the table.
  using type_bool = bool;
  using type_int = int64_t;
  using type_str = std::string;
#define MD_FLAG(type, name, default_value, env, affects_capture, doc) type_##type name = default_value;
#include "base/config_flags.def"
#undef MD_FLAG
};

struct ConfigRow {
  const char* name;
  const char* type;  // "bool", "int" or "str"
  const char* env;   // nullptr if there is none
  bool affects_capture;
  const char* doc;
  ConfigValue default_value;
};

// The process-wide configuration, written under the GIL only.
Config& config();

// Half of sized_plans_nbytes: what plans for varying sizes may use, and what primitives may use.
size_t most_sized_bytes();

const std::vector<ConfigRow>& config_rows();

// Throws Error(Attribute) for an unknown name, Error(Type) for a value of the wrong type.
ConfigValue get_config(std::string_view name);
void set_config(std::string_view name, const ConfigValue& value);

// Reads the env column of every row once; called at import. Throws Error(Value) naming the variable.
void load_config_from_environment();

// Changes whenever a flag with affects_capture changes value; equal settings have equal fingerprints.
uint64_t config_fingerprint();
// Invalidates every fingerprint: something else that captures depend on has changed.
void renew_config_fingerprints();

}  // namespace md
