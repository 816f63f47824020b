#include "frontends/minidynamo/family.h"

#include "autograd/grad_node.h"
#include "autograd/saved_tensor.h"
#include "cpython/text.h"
#include "frontends/arg_binding.h"
#include "frontends/autocast.h"
#include "frontends/dtype_object.h"
#include "frontends/indexing.h"
#include "frontends/layout_object.h"
#include "frontends/minidynamo/op_functions.h"
#include "frontends/minidynamo/tensor_gradients.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"
#include "frontends/operators.h"
#include "frontends/promotion.h"
#include "frontends/size_object.h"
#include "frontends/tensor_conversions.h"
#include "frontends/tensor_facts.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// ---- objects

bool is_writable(PyObject* object) {
  const Tensor& tensor = tensor_of(object);
  return tensor->kind() == TensorKind::Real && !tensor->is_read_only();
}

Ref empty(const TensorView& view) { return wrap_tensor(Tensor::empty(view.spec())); }

std::span<const NeutralKeyword> neutral_keywords() {
  static const NeutralKeyword kRows[] = {{"layout", layout_object("strided").get()}, {"pin_memory", Py_False}};
  return kRows;
}

Ref fake(const TensorSpec& spec) { return wrap_tensor(Tensor::fake(spec)); }

Ref alias(PyObject* owner, const TensorView& view, ViewTraits) {
  const Tensor& tensor = tensor_of(owner);
  int64_t bytes = static_cast<std::byte*>(view.data) - static_cast<std::byte*>(tensor->storage()->data());
  return wrap_tensor(
      Tensor::from_storage(tensor->storage(), bytes / static_cast<int64_t>(item_size(view.dtype)), view.spec()));
}

void put_gradient(PyObject* object, PyObject* gradient) { check_status(set_grad(object, gradient, nullptr)); }

void note_written(PyObject* object, int count) {
  for (int i = 0; i < count; ++i) tensor_of(object)->storage()->bump_version();
}

int64_t counted_writes(PyObject* object) { return static_cast<int64_t>(tensor_of(object)->storage()->version()); }

Ref size_object(std::span<const int64_t> sizes) {
  DimVec dims;
  for (int64_t size : sizes) dims.push_back(size);
  return size_from_dims(dims.span());
}

PyTypeObject* result_type(DType, int) { return &tensor_type; }

// ---- state: the modes of this thread, the default dtype, and whether gradients are watched

bool watches_gradients() { return node_observer.load() != nullptr || has_saved_tensor_hooks(); }

constexpr GradientAccess kGradients{
    .get = plain_gradient, .set = put_gradient, .are_watched = watches_gradients, .with_freed_history = nullptr};

// One word of the state.
struct DTypeState {
  DType default_dtype;
  AutocastState autocast;
};
constexpr int kDTypeBits = 8;
uint64_t word_of(const DTypeState& state) {
  return static_cast<uint64_t>(state.default_dtype) | static_cast<uint64_t>(state.autocast.word()) << kDTypeBits;
}
DTypeState dtypes_in(uint64_t word) {
  return {static_cast<DType>(word & ((1 << kDTypeBits) - 1)),
          AutocastState::of_word(static_cast<int>(word >> kDTypeBits))};
}

StateWords state() {
  const TensorModes& modes = tensor_modes();
  return {modes.grad_enabled, modes.inference_mode, word_of({own_default_dtype(), modes.autocast}),
          watches_gradients()};
}

std::string state_text(const StateWords& words) {
  auto word = [](uint64_t value) { return value != 0 ? "True" : "False"; };
  DTypeState dtypes = dtypes_in(words[2]);
  std::string autocast = dtypes.autocast.enabled ? str_cat(" autocast=", row(dtypes.autocast.dtype).name) : "";
  return str_cat("grad_mode=", word(words[0]), " inference_mode=", word(words[1]),
                 " default_dtype=", row(dtypes.default_dtype).name, autocast);
}

std::string state_difference(const StateWords& expected, const StateWords& now) {
  std::string text;
  auto name = [&](const char* part, bool differs) { text += differs ? part : ""; };
  DTypeState dtypes_expected = dtypes_in(expected[2]), dtypes_now = dtypes_in(now[2]);
  name(" grad_mode", expected[0] != now[0]);
  name(" inference_mode", expected[1] != now[1]);
  name(" default_dtype", dtypes_expected.default_dtype != dtypes_now.default_dtype);
  name(" autocast", dtypes_expected.autocast != dtypes_now.autocast);
  name(" watched_gradients", expected[3] != now[3]);
  return text;
}

GradModes modes() {
  const TensorModes& now = tensor_modes();
  return {now.grad_enabled, now.inference_mode, now.autocast};
}

void set_modes(const GradModes& modes) {
  tensor_modes().grad_enabled = modes.grad;
  tensor_modes().inference_mode = modes.inference;
  exchange_autocast(modes.autocast);
}

// ---- language

TensorCallables& callables() {
  static auto* all = new TensorCallables;
  return *all;
}

// Methods of the type that are neither ops nor facts.
struct MethodMeaning {
  const char* name;
  TensorCallableKind kind;
  TensorRefusal refusal;
};
constexpr MethodMeaning kMethods[] = {
    {"item", TensorCallableKind::Element, TensorRefusal::Number},
    {"tolist", TensorCallableKind::Elements, TensorRefusal::List},
    {"equal", TensorCallableKind::Breaks, TensorRefusal::Number},
    {"allclose", TensorCallableKind::Breaks, TensorRefusal::Number},
    {"numpy", TensorCallableKind::Converted, TensorRefusal::Memory},
    {"data_ptr", TensorCallableKind::Breaks, TensorRefusal::Memory},
    {"__array__", TensorCallableKind::Breaks, TensorRefusal::Memory},
    {"__dlpack__", TensorCallableKind::Breaks, TensorRefusal::Memory},
};

const TensorAttribute* attribute(std::string_view name) {
  static const auto* const rows = [] {
    auto* all = new TensorAttributes(common_attributes());
    all->emplace("grad", TensorAttribute{.kind = TensorAttribute::Kind::Gradient});
    all->emplace("grad_fn", TensorAttribute{.kind = TensorAttribute::Kind::GradNode});
    all->emplace("is_leaf", TensorAttribute{.kind = TensorAttribute::Kind::Leaf});
    return all;
  }();
  return find_attribute(*rows, name);
}

const TensorCallable* find(PyObject* callable) { return callables().find(callable); }

constexpr TensorFamily kFamily{
    .name = "minidynamo",
    .rank = 0,
    .read = nullptr,
    .is_writable = is_writable,
    .contained = tensor_of,
    .wrap = wrap_tensor,
    .empty = empty,
    .alias = alias,
    .written = note_written,
    .writes = counted_writes,
    .parameter_version = nullptr,
    .result_type = result_type,
    .family_of_result = nullptr,
    .counts_changes = true,
    .state = state,
    .state_text = state_text,
    .state_difference = state_difference,
    .unusual_state = nullptr,
    .modes = modes,
    .set_modes = set_modes,
    .gradients = &kGradients,
    .thread_count = nullptr,
    .recorder = nullptr,
    .watched_flags = nullptr,
    .reads_before_it_writes = true,
    .refuses_overlap = true,
    .may_store = nullptr,
    .may_store_number = nullptr,
    .attribute = attribute,
    .find = find,
    .is_opaque = nullptr,
    .binary_operator = binary_operator_row,
    .compare_operator = compare_operator_row,
    .unary_operator = unary_operator_row,
    .index = index_plan,
    .has_byte_masks = true,
    .converts_any_rank = true,
    .iterates_by_index = false,
    .promote = promote,
    .result_strides = nullptr,
    .takes_numbers = false,
    .sequence_converter = nullptr,
    .dtype_object = dtype_to_python,
    .size_object = size_object,
    .size_type = size_type,
    .hash_function = nullptr,
    .form = value_form,
    .argument = arg_from_python,
    .neutral_keywords = neutral_keywords,
    .to_own = nullptr,
    .from_own = nullptr,
    .opaque_tracer = nullptr,
    .call_raising = nullptr,
    .over_memory = nullptr,
    .face = &kOwnFace,
    .fake = fake,
};

void add_method(PyObject* descriptor) {
  std::string name = text_of(reinterpret_cast<PyDescrObject*>(descriptor)->d_name);
  TensorCallable meaning{.kind = TensorCallableKind::Breaks};
  for (const MethodMeaning& method : kMethods)
    if (name == method.name) meaning = {.kind = method.kind, .refusal = method.refusal};
  for (const ConversionMethod& method : conversion_methods())
    if (name == method.name) meaning = {.kind = TensorCallableKind::Conversion, .conversion = &method};
  if (const TensorFact* fact = find_tensor_fact(name); fact != nullptr && fact->is_method)
    meaning = {.kind = TensorCallableKind::Fact, .fact = fact};
  meaning.name = reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method->ml_name;
  if (meaning.kind == TensorCallableKind::Converted) meaning.function = Py_NewRef(descriptor);
  add_own_callable(descriptor, meaning);
}

}  // namespace

const TensorFamily& own_family() { return kFamily; }

void register_own_family() {
  register_tensor_type(&tensor_type, kFamily);
  add_op_methods();
  for (const PyMethodDef* method = tensor_methods(); method->ml_name != nullptr; ++method) {
    Ref descriptor = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), method->ml_name));
    if (Py_IS_TYPE(descriptor.get(), &PyMethodDescr_Type)) add_method(descriptor);
  }
}

void add_own_callable(BorrowedRef callable, TensorCallable meaning) {
  meaning.family = &kFamily;
  callables().add(callable, meaning);
}

}  // namespace md
