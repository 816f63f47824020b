#include "frontends/numpy/family.h"

#include "base/error.h"
#include "frontends/arg_binding.h"
#include "frontends/indexing.h"
#include "frontends/numpy/arrays.h"
#include "frontends/numpy/iteration_order.h"
#include "frontends/numpy/library.h"
#include "frontends/numpy/objects.h"
#include "frontends/numpy/promotion.h"
#include "frontends/numpy/state.h"
#include "frontends/operators.h"
#include "frontends/tensor_facts.h"

namespace md::numpy {
namespace {

PyTypeObject* array_type(DType, int) { return library().array; }
PyTypeObject* scalar_type(DType dtype, int) { return library().scalars[static_cast<size_t>(dtype)]; }

BorrowedRef not_hashed_by_identity() { return Py_None; }

bool never_writable(PyObject*) { return false; }

GradModes modes() { return {.grad = false, .inference = false}; }
void set_modes(const GradModes&) {}

// Filled under the GIL and never destroyed.
TensorCallables& callables() {
  static auto* all = new TensorCallables;
  return *all;
}
const TensorCallable* find(PyObject* callable) { return callables().find(callable); }

// What regions call as it is. Set under the GIL, once.
PyObject* tracer_of_host_calls = nullptr;

// A ufunc beside those of the table. Those of objects alone call Python, and may reach anything.
bool is_unknown_ufunc(PyObject* callable) {
  if (tracer_of_host_calls == nullptr || !Py_IS_TYPE(callable, library().ufunc)) return false;
  Ref types = check(PyObject_GetAttrString(callable, "types"));
  if (!PyList_Check(types.get()) || PyList_GET_SIZE(types.get()) == 0) return false;
  PyObject* first = PyList_GET_ITEM(types.get(), 0);
  return PyUnicode_Check(first) && PyUnicode_FindChar(first, 'O', 0, PyUnicode_GET_LENGTH(first), 1) < 0;
}

// ---- attributes

using Arguments = std::span<PyObject* const>;
Ref dtype(const TensorSpec& spec, Arguments, PyObject*) { return Ref::share(dtype_object(spec.dtype)); }
Ref rank(const TensorSpec& spec, Arguments, PyObject*) { return check(PyLong_FromLong(spec.rank())); }
Ref size(const TensorSpec& spec, Arguments, PyObject*) { return check(PyLong_FromLongLong(spec.numel().value())); }
Ref itemsize(const TensorSpec& spec, Arguments, PyObject*) { return check(PyLong_FromSize_t(item_size(spec.dtype))); }
Ref nbytes(const TensorSpec& spec, Arguments, PyObject*) {
  return check(PyLong_FromLongLong(spec.numel().value() * static_cast<int64_t>(item_size(spec.dtype))));
}
Ref strides(const TensorSpec& spec, Arguments, PyObject*) {
  std::vector<int64_t> bytes;
  for (Dim stride : spec.strides) bytes.push_back(stride.value() * static_cast<int64_t>(item_size(spec.dtype)));
  return size_object(bytes);
}

using Sizes = TensorFact::Sizes;
constexpr TensorFact kFacts[] = {
    {"dtype", false, Sizes::Nothing, dtype, ""}, {"ndim", false, Sizes::Nothing, rank, ""},
    {"size", false, Sizes::Count, size, ""},     {"itemsize", false, Sizes::Nothing, itemsize, ""},
    {"nbytes", false, Sizes::Bytes, nbytes, ""}, {"strides", false, Sizes::Nothing, strides, ""},
};

TensorAttributes& attributes() {
  static auto* const all = [] {
    auto* rows = new TensorAttributes{{"shape", {.kind = TensorAttribute::Kind::Shape}}};
    for (const TensorFact& fact : kFacts)
      rows->emplace(fact.name, TensorAttribute{.kind = TensorAttribute::Kind::Fact, .fact = &fact});
    return rows;
  }();
  return *all;
}
const TensorAttribute* attribute(std::string_view name) { return find_attribute(attributes(), name); }

// ---- language

ValueForm form(BorrowedRef value) { return value_form(own_face(value)); }
// An int from 2^63 on is an element of uint64 alone: which dtype takes it, promotion says.
std::optional<Scalar> large_number(const Param& param, BorrowedRef value) {
  if (param.type != ParamType::Number || !PyLong_CheckExact(value.get())) return std::nullopt;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow <= 0) return std::nullopt;
  uint64_t number = PyLong_AsUnsignedLongLong(value);
  if (number == static_cast<uint64_t>(-1) && PyErr_Occurred()) {
    PyErr_Clear();
    return std::nullopt;
  }
  return Scalar::natural(number);
}

Arg argument(const OpRow& row, const Param& param, BorrowedRef value) {
  if (std::optional<Scalar> large = large_number(param, value)) return *large;
  return arg_from_python(row, param, own_face(value));
}

// % has the sign of the divisor where it is zero as well; + copies, which no row does for all dtypes that have it.
const OpRow* binary_operator(const BinaryOperator& op) {
  static const OpRow* const modulo = find_op("modulo");
  return op.code == BinaryCode::Remainder ? modulo : binary_operator_row(op);
}
const OpRow* unary_operator(char op) { return op == '+' ? nullptr : unary_operator_row(op); }

// Ints beside arrays are arrays to NumPy: apart from them, they change where the dims of the arrays go.
bool has_int_apart(BorrowedRef tuple) {
  bool has_int = false, has_array = false, has_ended = false, is_apart = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple.get(), i);
    bool is_between = PySlice_Check(item) || item == Py_None || item == Py_Ellipsis;
    bool has_begun = has_int || has_array;
    is_apart = is_apart || (!is_between && has_ended);
    has_ended = has_ended || (is_between && has_begun);
    has_int = has_int || PyLong_Check(item);
    has_array = has_array || (!is_between && !PyLong_Check(item));
  }
  return is_apart && has_int && has_array;
}

// What index_plan_both_ways() reads otherwise than NumPy.
void check_key(const TensorSpec& spec, BorrowedRef tuple) {
  constexpr int kMostDims = 64;
  int ellipses = 0, dims = spec.rank();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    BorrowedRef item = PyTuple_GET_ITEM(tuple.get(), i);
    ellipses += item.get() == Py_Ellipsis;
    dims += item.get() == Py_None;
  }
  if (ellipses > 1) raise(ErrorKind::NotImplemented, "more than one ellipsis");
  if (dims > kMostDims) raise(ErrorKind::NotImplemented, "that many dims");
  if (has_int_apart(tuple)) raise(ErrorKind::NotImplemented, "an int apart from arrays");
}

IndexPlan index(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor) {
  if (PyTuple_Check(key.get())) check_key(spec, key);
  return index_plan_both_ways(spec, key, as_tensor);
}

const TensorFamily* result_family(int rank);

constexpr TensorFamily family_row(int rank) {
  return {
      .name = "numpy",
      .rank = rank,
      .read = read_array,
      .is_writable = is_writable,
      .contained = nullptr,
      .wrap = nullptr,
      .empty = empty,
      .alias = alias,
      .written = nullptr,
      .writes = nullptr,
      .parameter_version = nullptr,
      .result_type = array_type,
      .family_of_result = result_family,
      .counts_changes = false,
      .state = state,
      .state_text = state_text,
      .state_difference = state_difference,
      .unusual_state = unusual_state,
      .modes = modes,
      .set_modes = set_modes,
      .gradients = nullptr,
      .thread_count = nullptr,
      .recorder = nullptr,
      .watched_flags = watched_flags,
      .reads_before_it_writes = true,
      .refuses_overlap = false,
      .may_store = may_store,
      .may_store_number = may_store_number,
      .attribute = attribute,
      .find = find,
      .is_opaque = is_unknown_ufunc,
      .binary_operator = binary_operator,
      .compare_operator = compare_operator_row,
      .unary_operator = unary_operator,
      .index = index,
      .updates_at_masks = true,
      .converts_any_rank = false,
      .iterates_by_index = true,
      .promote = promote_arrays,
      .result_strides = result_strides,
      .takes_numbers = true,
      .sequence_converter = [] { return BorrowedRef(library().asarray); },
      .dtype_object = dtype_object,
      .size_object = size_object,
      .size_type = [] { return &PyTuple_Type; },
      .hash_function = not_hashed_by_identity,
      .form = form,
      .argument = argument,
      .neutral_keywords = nullptr,
      .to_own = own_face,
      .from_own = numpy_face,
      .opaque_tracer = [] { return BorrowedRef(tracer_of_host_calls); },
      .call_raising = call_raising,
      .over_memory = over_memory,
      .face = nullptr,
      .fake = nullptr,
  };
}

constexpr TensorFamily scalars_row() {
  TensorFamily row = family_row(2);
  row.read = read_scalar;
  row.is_writable = never_writable;
  row.wrap = scalar;
  row.empty = nullptr;
  row.alias = nullptr;
  row.over_memory = nullptr;
  row.result_type = scalar_type;
  row.promote = promote_scalars;
  return row;
}

constexpr TensorFamily kArrays = family_row(3);
constexpr TensorFamily kScalars = scalars_row();

const TensorFamily* result_family(int rank) { return rank == 0 ? &kScalars : &kArrays; }

}  // namespace

const TensorFamily& arrays() { return kArrays; }

void start() {
  register_tensor_type(library().array, kArrays);
  for (PyTypeObject* type : library().scalars)
    if (type != nullptr) register_tensor_type(type, kScalars);
}

void add_callable(BorrowedRef callable, TensorCallable meaning) {
  meaning.family = &kArrays;
  callables().add(callable, meaning);
}

void add_host_call(BorrowedRef callable, TensorCallable meaning) {
  add_callable(callable, meaning);
  callables().call_as_it_is(callable);
}

void set_tracer_of_host_calls(BorrowedRef tracer) { tracer_of_host_calls = Py_NewRef(tracer.get()); }

void add_attribute(std::string_view name, TensorCallable meaning) {
  meaning.family = &kArrays;
  attributes().emplace(
      name, TensorAttribute{.kind = TensorAttribute::Kind::StandIn, .stand_in = new TensorCallable(meaning)});
}

void add_part(std::string_view name, PyTypeObject* type, BorrowedRef maker) {
  attributes().emplace(name, TensorAttribute{.kind = TensorAttribute::Kind::Part,
                                             .value = Py_NewRef(maker.get()),
                                             .part = reinterpret_cast<PyTypeObject*>(Py_NewRef(type))});
}

}  // namespace md::numpy
