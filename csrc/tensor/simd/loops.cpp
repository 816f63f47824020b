#include "tensor/simd/loops.h"

#include <atomic>
#include <string_view>

#include "base/error.h"
#include "tensor/simd/loop_headers.h"

namespace md {
namespace {

struct Level {
  const LoopTable* table;
  bool (*available)();
};

// Best first.
constexpr Level kLevels[] = {
#if defined(__x86_64__)
    {&level_v4::table, [] { return __builtin_cpu_supports("x86-64-v4") != 0; }},
    {&level_v3::table, [] { return __builtin_cpu_supports("x86-64-v3") != 0; }},
#endif
    {&level_baseline::table, [] { return true; }},
};

const LoopTable* best_table() {
  for (const Level& level : kLevels) {
    if (level.available()) return level.table;
  }
  return &level_baseline::table;
}

std::atomic<const LoopTable*> current_table = nullptr;

}  // namespace

const LoopTable& loops() {
  const LoopTable* table = current_table.load(std::memory_order_relaxed);
  if (table == nullptr) {
    table = best_table();
    current_table.store(table, std::memory_order_relaxed);
  }
  return *table;
}

const char* instruction_level() { return loops().name; }

void use_instruction_level(const char* name) {
  for (const Level& level : kLevels) {
    if (std::string_view(level.table->name) == name && level.available()) {
      current_table.store(level.table, std::memory_order_relaxed);
      return;
    }
  }
  raise(ErrorKind::Value, "no instruction-set level '", name, "' on this processor");
}

}  // namespace md
