#include "guards/guard_index.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "guards/fetch_step.h"
#include "guards/guard_row.h"

namespace md {
namespace {

size_t mix(size_t hash, size_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

size_t pointer_hash(const void* pointer) { return reinterpret_cast<size_t>(pointer) >> 4; }

// For constants whose hash runs no Python code and agrees with identical_constants.
std::optional<size_t> constant_hash(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyFloat_Type) return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object));
  if (type != &PyLong_Type && type != &PyBool_Type && type != &PyUnicode_Type && type != &PyBytes_Type)
    return std::nullopt;
  return static_cast<size_t>(PyObject_Hash(object));
}

size_t tensor_hash(DType dtype, int rank, bool requires_grad) {
  return mix(mix(static_cast<size_t>(dtype), static_cast<size_t>(rank)), requires_grad ? 1 : 2);
}

size_t sizes_hash(size_t hash, const int64_t* sizes, int rank) {
  for (int i = 0; i < rank; ++i) hash = mix(hash, static_cast<size_t>(sizes[i]));
  return hash;
}

// The hash beyond the type, for types with more to compare.
size_t detail_hash(PyObject* object, Detail detail) {
  if (const TensorFamily* family = family_of(object)) {
    TensorView view;
    if (!read_view(*family, object, view)) return 0;
    size_t hash = tensor_hash(view.dtype, view.rank, view.requires_grad);
    return detail == Detail::Sizes ? sizes_hash(hash, view.sizes, view.rank) : hash;
  }
  if (Py_TYPE(object) == &PyFunction_Type) return pointer_hash(PyFunction_GET_CODE(object));
  std::optional<size_t> hash = constant_hash(object);
  return hash ? *hash : pointer_hash(object);
}

size_t object_hash(PyTypeObject* type, Detail detail, size_t more) {
  size_t hash = pointer_hash(type);
  return detail == Detail::Type ? hash : mix(hash, more);
}

}  // namespace

void Expectation::expect(PyTypeObject* of_type, Detail more) {
  if (!any && more <= detail) return;
  any = false;
  type = of_type;
  detail = more;
}

void Expectation::add(const Guard& guard) {
  // A set that refers to a dead object never holds.
  if (guard.object.get()) guard_row(guard.kind).expect(guard, *this);
}

namespace guard_columns {

void expect_tensor(const Guard& guard, Expectation& expectation) {
  const TensorExpectation& tensor = guard.tensor;
  bool has_sizes = std::ranges::find(tensor.dims, TensorExpectation::kAnyDim) == tensor.dims.end();
  expectation.expect(guard.type(), has_sizes ? Detail::Sizes : Detail::Value);
  expectation.value_hash = tensor_hash(tensor.dtype, tensor.rank, tensor.requires_grad);
  if (has_sizes) expectation.sizes_hash = sizes_hash(expectation.value_hash, tensor.dims.data(), tensor.rank);
}

void expect_type(const Guard& guard, Expectation& expectation) { expectation.expect(guard.type(), Detail::Type); }

void expect_constant(const Guard& guard, Expectation& expectation) {
  BorrowedRef constant = guard.object.get();
  std::optional<size_t> hash = constant_hash(constant);
  expectation.expect(constant.type(), hash ? Detail::Value : Detail::Type);
  if (hash) expectation.value_hash = *hash;
}

// For a function the code is compared, for a constant the value.
void expect_object(const Guard& guard, Expectation& expectation) {
  BorrowedRef object = guard.object.get();
  expectation.expect(object.type(), Detail::Value);
  expectation.value_hash = detail_hash(object, Detail::Value);
}

void expect_code(const Guard& guard, Expectation& expectation) {
  expectation.expect(&PyFunction_Type, Detail::Value);
  expectation.value_hash = pointer_hash(guard.object.get().get());
}

}  // namespace guard_columns

size_t Expectation::hash(Detail wanted) const {
  return object_hash(type, wanted, wanted == Detail::Sizes ? sizes_hash : value_hash);
}

Detail GuardIndex::Place::detail_of(PyTypeObject* type) const {
  for (const auto& [each, detail] : details)
    if (each == type) return detail;
  return Detail::Type;
}

GuardIndex::GuardIndex(std::span<const GuardSet* const> sets, std::span<const Source* const> places) {
  std::vector<size_t> hashes(sets.size(), 0);
  for (const Source* source : places) {
    std::vector<Expectation> expected;
    for (const GuardSet* set : sets) expected.push_back(set->expectation_at(source));
    if (std::ranges::any_of(expected, &Expectation::any)) continue;
    Place place{source, {}};
    for (const Expectation& each : expected) {
      auto known = std::ranges::find(place.details, each.type, &std::pair<PyTypeObject*, Detail>::first);
      if (known == place.details.end()) {
        place.details.emplace_back(each.type, each.detail);
      } else {
        known->second = std::min(known->second, each.detail);
      }
    }
    for (size_t i = 0; i < sets.size(); ++i)
      hashes[i] = mix(hashes[i], expected[i].hash(place.detail_of(expected[i].type)));
    std::erase_if(place.details, [](const auto& each) { return each.second == Detail::Type; });
    places_.push_back(std::move(place));
  }
  if (places_.empty()) return;
  for (size_t i = 0; i < sets.size(); ++i) by_hash_.emplace_back(hashes[i], static_cast<uint32_t>(i));
  std::ranges::sort(by_hash_);
}

std::span<const std::pair<size_t, uint32_t>> GuardIndex::candidates(const LocalsView& view) const {
  size_t hash = 0;
  for (const Place& place : places_) {
    PyObject* object = fetch_path(*place.source, view).object;
    if (object == nullptr) return {};  // every set expects an object there
    Detail detail = place.detail_of(Py_TYPE(object));
    hash = mix(hash, object_hash(Py_TYPE(object), detail, detail == Detail::Type ? 0 : detail_hash(object, detail)));
  }
  auto [first, last] = std::ranges::equal_range(by_hash_, hash, {}, &std::pair<size_t, uint32_t>::first);
  return {first, last};
}

}  // namespace md
