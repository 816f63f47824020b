// The costs of loop_costs.def by their names.
#pragma once
#include <cstdint>

namespace md::loop_cost {

#define MD_LOOP_COST(name, amount, doc) inline constexpr int64_t name = amount;
#include "symbolic/trace/loop_costs.def"
#undef MD_LOOP_COST

}  // namespace md::loop_cost
