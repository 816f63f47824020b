#include "symbolic/state/shape_env.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "cpython/object_layout.h"
#include "guards/guard.h"
#include "guards/guard_set.h"

namespace md {
namespace {

std::optional<int64_t> optional_number(PyObject* object) {
  if (object == Py_None || !PyLong_Check(object)) return std::nullopt;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

DimMark mark_of(PyObject* text) {
  static constexpr std::pair<const char*, DimMark> kNames[] = {
      {"dynamic", DimMark::Dynamic}, {"maybe_dynamic", DimMark::MaybeDynamic}, {"static", DimMark::Static}};
  for (const auto& [name, mark] : kNames)
    if (PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, name) == 0) return mark;
  return DimMark::None;
}

// An attribute of the tensor object itself; null if it has none.
PyObject* own_attribute(BorrowedRef object, PyObject* name) {
  PyObject* value = nullptr;
  return pv_instance_lookup(object, name, &value) == 1 ? value : nullptr;
}

// Sets of dims by mark, where a program for torch keeps them.
struct MarkedSet {
  PyObject* name;
  DimMark mark;
};
void read_marked_sets(BorrowedRef tensor_object, std::vector<DimPolicy>& policies) {
  static const MarkedSet kSets[] = {{PyUnicode_InternFromString("_dynamo_weak_dynamic_indices"), DimMark::MaybeDynamic},
                                    {PyUnicode_InternFromString("_dynamo_dynamic_indices"), DimMark::Dynamic},
                                    {PyUnicode_InternFromString("_dynamo_unbacked_indices"), DimMark::Dynamic},
                                    {PyUnicode_InternFromString("_dynamo_static_indices"), DimMark::Static}};
  for (const MarkedSet& set : kSets) {
    PyObject* dims = own_attribute(tensor_object, set.name);
    if (dims == nullptr || !PyAnySet_CheckExact(dims)) continue;
    PyObject* item = nullptr;
    Py_ssize_t position = 0;
    while (pv_next_in_set(dims, &position, &item) != 0) {
      std::optional<int64_t> dim = optional_number(item);
      if (dim && *dim >= 0 && *dim < static_cast<int64_t>(policies.size()))
        policies[static_cast<size_t>(*dim)].mark = set.mark;
    }
  }
}

}  // namespace

// Reads the attributes in which _dynamo.mark_dynamic stores {dim: (mark, min, max)}, and torch's stores sets of dims.
std::vector<DimPolicy> dim_policies(BorrowedRef tensor_object, int rank) {
  static PyObject* const kName = PyUnicode_InternFromString("_dynamo_dims");
  std::vector<DimPolicy> policies(static_cast<size_t>(rank));
  read_marked_sets(tensor_object, policies);
  PyObject* marks = own_attribute(tensor_object, kName);
  if (marks == nullptr || !PyDict_CheckExact(marks)) return policies;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(marks, &position, &key, &value) != 0) {
    std::optional<int64_t> dim = optional_number(key);
    if (!dim || *dim < 0 || *dim >= rank || !PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != 3) continue;
    policies[static_cast<size_t>(*dim)] = {mark_of(PyTuple_GET_ITEM(value, 0)),
                                           optional_number(PyTuple_GET_ITEM(value, 1)),
                                           optional_number(PyTuple_GET_ITEM(value, 2))};
  }
  return policies;
}

ShapeEnv::ShapeEnv(bool all_symbolic) : all_symbolic_(all_symbolic) {}
ShapeEnv::~ShapeEnv() = default;

void ShapeEnv::add_may_raise(ValuePtr value) { may_raise_.push_back(std::move(value)); }

Dim ShapeEnv::symbol(const SizePlace& place, int64_t hint, const DimPolicy& policy) {
  std::vector<SizePlace>& places = sizes_.places;
  auto known = std::find(places.begin(), places.end(), place);
  if (known != places.end()) return symbols().symbols()[static_cast<size_t>(known - places.begin())];
  std::string name = str_cat("s", places.size());
  Dim made = place.dim >= 0 ? Dim::symbol(name, hint) : Dim::signed_symbol(name, hint);
  sizes_.symbols.add(made);
  places.push_back(place);
  if (policy.mark == DimMark::Dynamic) marked_.push_back({made, place, policy});
  if (policy.min) relation(made, hint < *policy.min ? DimRelation::Less : DimRelation::NotLess, *policy.min);
  if (policy.max) relation(*policy.max, hint > *policy.max ? DimRelation::Less : DimRelation::NotLess, made);
  return made;
}

bool ShapeEnv::is_unbacked(const ValuePtr& value) const {
  auto* computed = as<ComputedValue>(value);
  return computed != nullptr && !computed->known && computed->dim && is_unbacked(*computed->dim);
}

void ShapeEnv::relation(Dim a, DimRelation relation, Dim b) {
  std::string text = str_cat(a.str(), " ", relation_sign(relation), " ", b.str());
  if (!known_.insert(std::move(text)).second) return;
  if (is_unbacked(a) || is_unbacked(b))
    runtime_asserts_.push_back({a, relation, b});
  else
    relations_.push_back({a, relation, b});
}

Dim ShapeEnv::unbacked(int64_t hint, bool is_count) {
  std::string name = str_cat("u", unbacked_.symbols().size());
  Dim made = is_count ? Dim::symbol(name, hint) : Dim::signed_symbol(name, hint);
  unbacked_.add(made);
  return made;
}

bool ShapeEnv::is_unbacked(Dim dim) const {
  if (unbacked_.symbols().empty()) return false;
  SymbolList symbols;
  symbols.add(dim);
  return std::ranges::any_of(symbols.symbols(), [this](Dim symbol) { return unbacked_.find(symbol) >= 0; });
}

bool ShapeEnv::reads_elements() const {
  return std::ranges::any_of(sizes_.places, [](const SizePlace& place) { return place.dim == SizePlace::kElement; });
}

std::optional<int64_t> ShapeEnv::fixed(Dim symbol) const {
  for (const SizeRelation& each : relations_) {
    if (each.relation != DimRelation::Equal) continue;
    if (same(each.a, symbol) && !each.b.is_symbolic()) return each.b.value();
    if (same(each.b, symbol) && !each.a.is_symbolic()) return each.a.value();
  }
  return std::nullopt;
}

std::string ShapeEnv::violations(const Bytecode& bytecode) const {
  std::string names, reasons;
  auto add = [&](const Marked& marked, const std::string& reason) {
    std::string text = name(marked.place, bytecode);
    names += (names.empty() ? "" : ", ") + text;
    reasons += str_cat("\n  - You marked ", text, reason);
  };
  for (const Marked& marked : marked_) {
    int64_t hint = marked.symbol.hint();
    bool below = marked.policy.min && hint < *marked.policy.min, above = marked.policy.max && hint > *marked.policy.max;
    if (below || above) {
      auto bound = [](std::optional<int64_t> number) { return number ? std::to_string(*number) : std::string("any"); };
      add(marked, str_cat(" as dynamic with values from ", bound(marked.policy.min), " to ", bound(marked.policy.max),
                          ", but it is ", hint, "."));
    } else if (std::optional<int64_t> number = fixed(marked.symbol)) {
      add(marked, str_cat(" as dynamic but your code specialized it to be a constant (", *number,
                          "). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic."));
    }
  }
  return names.empty() ? "" : str_cat("Constraints violated (", names, ")!", reasons);
}

std::vector<int> make_symbolic(TensorSpec& spec, const std::vector<std::optional<Dim>>& sizes) {
  int rank = spec.rank();
  TensorSpec seen = spec;
  for (int i = 0; i < rank; ++i)
    if (sizes[static_cast<size_t>(i)]) spec.sizes[i] = *sizes[static_cast<size_t>(i)];
  std::vector<int> over(static_cast<size_t>(rank), -1);
  // Inner dims first, so no two strides are derived from each other.
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return std::abs(seen.strides[a].value()) < std::abs(seen.strides[b].value()); });
  for (size_t at = 0; at < order.size(); ++at) {
    int dim = order[at];
    auto goes_over = [&](int inner) {
      int64_t step = seen.strides[inner].value() * std::max<int64_t>(seen.sizes[inner].value(), 1);
      return std::abs(seen.strides[dim].value()) == std::abs(step);
    };
    // Prefer the neighbouring dim, as in a row-major tensor.
    int found = -1;
    for (size_t before = 0; before < at; ++before) {
      int inner = order[before];
      // An empty dim uses a factor of 1: the stride is not a product with the size.
      if (!spec.sizes[inner].is_symbolic() && seen.sizes[inner].value() == 0) continue;
      bool is_symbolic = spec.sizes[inner].is_symbolic() || spec.strides[inner].is_symbolic();
      if (is_symbolic && goes_over(inner) && (found < 0 || inner == dim + 1)) found = inner;
    }
    if (found < 0) continue;
    bool turns = (seen.strides[dim].value() < 0) != (seen.strides[found].value() < 0);
    over[static_cast<size_t>(dim)] = turns ? found + rank : found;
    Dim step = spec.sizes[found] * spec.strides[found];
    spec.strides[dim] = turns ? Dim(0) - step : step;
  }
  return over;
}

}  // namespace md
