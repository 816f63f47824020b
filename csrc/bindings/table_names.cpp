#include "bindings/table_names.h"

#include <algorithm>
#include <array>
#include <deque>
#include <span>

#include "base/error.h"

namespace md {
namespace {

constexpr std::string_view kKinds[] = {
#define MD_TENSOR_CALLABLE(name, doc) #name,
#include "frontends/tensor_callables.def"
#undef MD_TENSOR_CALLABLE
};
constexpr std::string_view kRefusals[] = {
#define MD_TENSOR_REFUSAL(name, reason, doc) #name,
#include "frontends/tensor_refusals.def"
#undef MD_TENSOR_REFUSAL
};
constexpr std::string_view kLayouts[] = {
#define MD_RESULT_LAYOUT(name, doc) #name,
#include "frontends/result_layouts.def"
#undef MD_RESULT_LAYOUT
};

constexpr auto kDTypeNames = [] {
  std::array<std::string_view, kDTypeCount> names;
  std::ranges::transform(kDTypes, names.begin(), &DTypeRow::name);
  return names;
}();

// The row of a table by its name.
template <typename Row>
Row row_named(std::span<const std::string_view> names, std::string_view name) {
  auto found = std::ranges::find(names, name);
  if (found == names.end()) raise(ErrorKind::Key, "no row is named ", name);
  return static_cast<Row>(found - names.begin());
}

}  // namespace

TensorCallableKind tensor_callable_kind(std::string_view name) { return row_named<TensorCallableKind>(kKinds, name); }
std::string_view tensor_callable_name(TensorCallableKind kind) { return kKinds[static_cast<size_t>(kind)]; }
TensorRefusal tensor_refusal(std::string_view name) { return row_named<TensorRefusal>(kRefusals, name); }
ResultLayout result_layout(std::string_view name) { return row_named<ResultLayout>(kLayouts, name); }
DType dtype_named(std::string_view name) { return row_named<DType>(kDTypeNames, name); }

std::string_view kept_name(std::string name) {
  static auto* all = new std::deque<std::string>;
  return all->emplace_back(std::move(name));
}

}  // namespace md
