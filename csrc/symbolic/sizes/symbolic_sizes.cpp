// Symbolic sizes: where they enter the trace, and what it may do with them.
#include <algorithm>
#include <unordered_set>

#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/rounded_sizes.h"
#include "symbolic/sizes/size_comparisons.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// Returns true if the source is reached through an object's attributes: a parameter or buffer of a module, for example.
bool is_held_by_object(const Source* source) {
  for (; source != nullptr; source = source->base())
    if (source->kind() == SourceKind::InstanceAttr || source->kind() == SourceKind::InstanceDict) return true;
  return false;
}

// The column `compare`.
namespace comparisons {

bool less(Dim a, Dim b) { return known_less(a, b); }
bool less_equal(Dim a, Dim b) { return !known_less(b, a); }
bool equal(Dim a, Dim b) { return md::known_equal(a, b); }
bool not_equal(Dim a, Dim b) { return !md::known_equal(a, b); }
bool greater(Dim a, Dim b) { return known_less(b, a); }
bool greater_equal(Dim a, Dim b) { return !known_less(a, b); }
constexpr bool (*no_order)(Dim, Dim) = nullptr;

constexpr bool (*kRows[])(Dim, Dim) = {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) compare,
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace comparisons

bool is_comparison(ScalarOp scalar_op) { return comparisons::kRows[static_cast<size_t>(scalar_op)] != nullptr; }
bool compare(ScalarOp scalar_op, Dim a, Dim b) { return comparisons::kRows[static_cast<size_t>(scalar_op)](a, b); }

// The column `on_sizes`.
namespace on_sizes {

using Dims = const std::vector<Dim>&;

void check_divisor(Dim divisor) {
  if (md::known_equal(divisor, 0)) raise_here();
}

Dim sum(Dims dims) { return dims[0] + dims[1]; }
Dim difference(Dims dims) { return dims[0] - dims[1]; }
Dim product(Dims dims) { return dims[0] * dims[1]; }
Dim negative(Dims dims) { return Dim(0) - dims[0]; }
Dim itself(Dims dims) { return dims[0]; }
Dim floor_quotient(Dims dims) {
  check_divisor(dims[1]);
  return floor_divide(dims[0], dims[1]);
}
Dim rest(Dims dims) {
  check_divisor(dims[1]);
  return remainder(dims[0], dims[1]);
}
// A number that is the same at every run, and neither negative nor so large that the result is no size.
int64_t small_number(Dim dim) {
  if (dim.is_symbolic() || dim.value() < 0 || dim.value() > 61) raise(ErrorKind::Runtime, "not a size");
  return dim.value();
}

Dim shifted_left(Dims dims) { return dims[0] * Dim(int64_t{1} << small_number(dims[1])); }
Dim shifted_right(Dims dims) { return floor_divide(dims[0], Dim(int64_t{1} << small_number(dims[1]))); }
Dim power(Dims dims) {
  Dim result = 1;
  for (int64_t i = small_number(dims[1]); i > 0; --i) result = result * dims[0];
  return result;
}
// By a mask of the lowest bits: the remainder by a power of two.
Dim masked(Dims dims) {
  const bool first = !dims[0].is_symbolic();
  Dim mask = dims[first ? 0 : 1];
  bool is_mask = !mask.is_symbolic() && mask.value() > 0 && (mask.value() & (mask.value() + 1)) == 0;
  if (!is_mask) raise(ErrorKind::Runtime, "not a size");
  return remainder(dims[first ? 1 : 0], mask + 1);
}
Dim smallest(Dims dims) {
  Dim best = dims[0];
  for (Dim dim : dims)
    if (known_less(dim, best)) best = dim;
  return best;
}
Dim largest(Dims dims) {
  Dim best = dims[0];
  for (Dim dim : dims)
    if (known_less(best, dim)) best = dim;
  return best;
}
constexpr Dim (*no_size)(Dims) = nullptr;

constexpr Dim (*kRows[])(Dims) = {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) on_sizes,
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace on_sizes

// Records whether a comparison was decided by the sizes of this capture.
struct AskedSizes : ShapeGuardSink {
  bool asked = false;
  void relation(Dim, DimRelation, Dim) override { asked = true; }
};

}  // namespace

std::optional<bool> compared_for_all(ScalarOp comparison, Dim a, Dim b) {
  if (!is_comparison(comparison)) return std::nullopt;
  AskedSizes sizes;
  ShapeGuardScope scope(&sizes);
  bool holds = compare(comparison, a, b);
  return sizes.asked ? std::nullopt : std::optional(holds);
}

void make_sizes_symbolic(Tracer& tracer, TensorValue* tensor) {
  const TraceStart& start = tracer.entry().start();
  TensorSpec& spec = tensor->spec;
  DynamicShapes dynamic = start.policy->dynamic;
  std::vector<DimPolicy> policies = dim_policies(tensor->object, spec.rank());
  bool from_the_start =
      dynamic == DynamicShapes::Always || (dynamic == DynamicShapes::Automatic && tracer.shapes().all_symbolic());
  // Not a parameter.
  bool is_plain_type = tensor->object.type() == tensor->family->result_type(spec.dtype, spec.rank());
  bool all = from_the_start && is_plain_type && !is_held_by_object(tensor->source);
  bool any = all || start.dynamic_sources != nullptr || !policies.empty();
  if (!any || dynamic == DynamicShapes::Never || spec.rank() == 0) return;
  bool is_plain = same(spec.strides, contiguous_strides(spec.sizes.span()));
  std::vector<std::optional<Dim>> sizes(static_cast<size_t>(spec.rank()));
  any = false;
  for (int i = 0; i < spec.rank(); ++i) {
    DimPolicy policy = policies.empty() ? DimPolicy{} : policies[static_cast<size_t>(i)];
    SizePlace place{tensor->source, i};
    bool is_dynamic = start.dynamic_sources != nullptr && start.dynamic_sources->contains(name(place, start.bytecode));
    bool marked = policy.mark == DimMark::Dynamic || policy.mark == DimMark::MaybeDynamic;
    if (policy.mark == DimMark::Static || !(all || is_dynamic || marked)) continue;
    // In an empty dim, the strides do not show which dims they are derived from.
    if (same(spec.sizes[i], Dim(0)) && (i > 0 || !is_plain)) continue;
    sizes[static_cast<size_t>(i)] = tracer.shapes().symbol(place, spec.sizes[i].value(), policy);
    any = true;
  }
  if (any) tensor->stride_over = make_symbolic(spec, sizes);
}

ValuePtr size_value(Tracer& tracer, Dim dim) {
  if (!dim.is_symbolic()) return tracer.values().integer(dim.value());
  auto value =
      make_value<ComputedValue>(ScalarOp::Int, std::vector<ValuePtr>{}, check(PyLong_FromLongLong(dim.hint())));
  value->dim = dim;
  return value;
}

ValuePtr shape_value(Tracer& tracer, const TensorFamily& family, const TensorSpec& spec) {
  if (!any_symbolic(spec.sizes.span())) {
    std::vector<int64_t> sizes;
    for (Dim size : spec.sizes) sizes.push_back(size.value());
    return tracer.values().constant(family.size_object(sizes));
  }
  std::vector<ValuePtr> items;
  for (Dim dim : spec.sizes) items.push_back(size_value(tracer, dim));
  auto shape = make_value<SequenceValue>(false, std::move(items));
  if (PyTypeObject* type = family.size_type(); type != &PyTuple_Type)
    shape->type = tracer.values().constant(reinterpret_cast<PyObject*>(type));
  return shape;
}

bool is_shape(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool may_vary = value->kind == ValueKind::Sequence || (object != nullptr && object->source != nullptr);
  return may_vary && family_of_sizes(type_of(value)) != nullptr;
}

ValuePtr shape_of_items(Tracer& tracer, PyTypeObject* type, std::vector<ValuePtr> items) {
  auto shape = make_value<SequenceValue>(false, std::move(items));
  shape->type = tracer.values().constant(reinterpret_cast<PyObject*>(type));
  return shape;
}

ValuePtr known_shape(Tracer& tracer, const ValuePtr& value) {
  std::vector<int64_t> sizes;
  auto items = elements_of(tracer, value);
  MD_ASSERT(items, "a Size has elements");
  for (const ValuePtr& item : *items) sizes.push_back(int_of(tracer, item).value_or(0));
  return tracer.values().constant(family_of_sizes(type_of(value))->size_object(sizes));
}

std::optional<Dim> dim_of(Tracer& tracer, const ValuePtr& value) {
  if (auto* number = as<NumberValue>(value))
    return number->type == &PyLong_Type ? std::optional(unbacked_size(tracer, number)) : std::nullopt;
  if (auto* computed = as<ComputedValue>(value)) {
    if (!PyLong_CheckExact(computed->current.get())) return std::nullopt;
    if (computed->known) return int_of(tracer, value);
    // Computed lazily: it specialises the divisor to be non-zero.
    if (!computed->dim) computed->dim = computed_dim(tracer, computed->scalar_op, computed->parts);
    return computed->dim;
  }
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !PyLong_CheckExact(object->object.get())) return std::nullopt;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(object->object, &overflow);
  if (overflow != 0 || number > INT64_MAX / 4 || number < -(INT64_MAX / 4)) return std::nullopt;
  if (object->source == nullptr || object->value_guarded) return Dim(number);
  if (!is_dynamic(value)) return std::nullopt;
  tracer.values().exact_type(value);
  return tracer.shapes().symbol({object->source, -1}, number);
}

namespace {

// The elements of a pre-existing tuple or list, if some of them vary.
std::unique_ptr<std::vector<ValuePtr>> varying_elements(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool may_vary = object != nullptr && object->source != nullptr && !object->value_guarded &&
                  (PyTuple_Check(object->object.get()) || PyList_Check(object->object.get()));
  if (!may_vary || tracer.entry().start().dynamic_sources == nullptr) return nullptr;
  auto elements = elements_of(tracer, value);
  return elements && std::ranges::any_of(*elements, is_dynamic) ? std::move(elements) : nullptr;
}

// Visits each sequence once: it may be referenced from many places, and by itself.
bool holds_symbolic_size(Tracer& tracer, const ValuePtr& value, std::unordered_set<const Value*>& met) {
  if (auto* sequence = as<SequenceValue>(value)) {
    if (!met.insert(sequence).second) return false;
    return std::any_of(sequence->items.begin(), sequence->items.end(),
                       [&](const ValuePtr& item) { return holds_symbolic_size(tracer, item, met); });
  }
  if (auto elements = varying_elements(tracer, value))
    return std::ranges::any_of(*elements, [&](const ValuePtr& item) { return holds_symbolic_size(tracer, item, met); });
  if (auto* slice = as<SliceValue>(value))
    return holds_symbolic_size(tracer, slice->start, met) || holds_symbolic_size(tracer, slice->stop, met) ||
           holds_symbolic_size(tracer, slice->step, met);
  if (auto* number = as<NumberValue>(value)) return number->type == &PyLong_Type;
  if (!is_dynamic(value)) return false;
  std::optional<Dim> dim = dim_of(tracer, value);
  return dim && dim->is_symbolic();
}

}  // namespace

bool has_symbolic_size(Tracer& tracer, const ValuePtr& value) {
  std::unordered_set<const Value*> met;
  return holds_symbolic_size(tracer, value, met);
}

// Returns nullopt if an operand is not a size, or the result is not an integer.
std::optional<Dim> computed_dim(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  if (std::optional<Dim> rounded = rounded_dim(tracer, scalar_op, operands)) return rounded;
  std::vector<Dim> dims;
  for (const ValuePtr& operand : operands) {
    std::optional<Dim> dim = dim_of(tracer, operand);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  auto* compute = on_sizes::kRows[static_cast<size_t>(scalar_op)];
  if (compute == nullptr) return std::nullopt;
  try {
    return compute(dims);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    return std::nullopt;  // too large for a size
  }
}

// After a break the interpreter decides on dynamic ints; the capture must hold for both outcomes.
bool is_for_python(Tracer& tracer, Dim dim) {
  if (tracer.entry().start().index == 0) return false;
  SymbolList symbols;
  symbols.add(dim);
  return std::ranges::any_of(tracer.shapes().places_of(symbols), [](const SizePlace& place) { return place.dim < 0; });
}

std::optional<bool> decided(Tracer& tracer, const ComputedValue& value) {
  if (value.known) return std::nullopt;
  for (const ValuePtr& part : value.parts) refuse_unbacked(tracer, part);
  if (value.scalar_op == ScalarOp::Not || value.scalar_op == ScalarOp::Truth) {
    bool negates = value.scalar_op == ScalarOp::Not;
    std::optional<bool> truth;
    if (auto* inner = as<ComputedValue>(value.parts[0])) truth = decided(tracer, *inner);
    if (!truth) {
      std::optional<Dim> dim = dim_of(tracer, value.parts[0]);
      if (!dim || is_for_python(tracer, *dim)) return std::nullopt;
      truth = !md::known_equal(*dim, 0);
    }
    return *truth != negates;
  }
  if (value.dim)
    return is_for_python(tracer, *value.dim) ? std::nullopt : std::optional(!md::known_equal(*value.dim, 0));
  if (!is_comparison(value.scalar_op)) return std::nullopt;
  std::optional<Dim> a = dim_of(tracer, value.parts[0]), b = a ? dim_of(tracer, value.parts[1]) : std::nullopt;
  if (!a || !b) return std::nullopt;
  if (std::optional<bool> always = compared_for_all(value.scalar_op, *a, *b)) return always;
  if (is_for_python(tracer, *a) || is_for_python(tracer, *b)) return std::nullopt;
  return compare(value.scalar_op, *a, *b);
}

void specialise(Tracer& tracer, const TensorSpec& spec) {
  refuse_unbacked_sizes(tracer, spec);
  for (const DimVec* dims : {&spec.sizes, &spec.strides})
    for (Dim dim : *dims) static_cast<void>(dim.value());
}

}  // namespace md
