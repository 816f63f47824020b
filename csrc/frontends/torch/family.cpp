#include "frontends/torch/family.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "frontends/arg_binding.h"
#include "frontends/indexing.h"
#include "frontends/operators.h"
#include "frontends/promotion.h"
#include "frontends/tensor_facts.h"
#include "frontends/torch/gradients.h"
#include "frontends/torch/library.h"
#include "frontends/torch/objects.h"
#include "frontends/torch/state.h"
#include "frontends/torch/tensors.h"

namespace md::torch {
namespace {

PyTypeObject* result_type(DType, int) { return library().tensor; }

int thread_count() { return library().functions.thread_count(); }

TensorCallables& callables() {
  static auto* all = new TensorCallables;
  return *all;
}

Ref layout(const TensorSpec&, std::span<PyObject* const>, PyObject*) { return Ref::share(layout_object()); }

constexpr TensorFact kLayout{"layout", false, TensorFact::Sizes::Nothing, layout, ""};

// Attributes whose answer our table has, but torch's differs, or depends on autograd.
constexpr std::string_view kLeftOut[] = {"is_leaf", "layout", "grad", "grad_fn", "retains_grad", "output_nr"};

constexpr std::pair<const char*, TensorAttribute::Kind> kOfGradients[] = {
    {"grad", TensorAttribute::Kind::Gradient},
    {"grad_fn", TensorAttribute::Kind::GradNode},
    {"is_leaf", TensorAttribute::Kind::Leaf},
};

constexpr GradientAccess kGradients{.get = plain_gradient,
                                    .set = put_gradient,
                                    .are_watched = are_gradients_watched,
                                    .with_freed_history = with_freed_history};

const TensorAttribute* attribute(std::string_view name) {
  // Filled once, under the GIL.
  static const auto* const rows = [] {
    auto* all = new TensorAttributes(common_attributes());
    for (std::string_view left_out : kLeftOut) all->erase(left_out);
    all->insert_or_assign(
        "data", TensorAttribute{.kind = TensorAttribute::Kind::View, .row = find_op("data"), .sets_data = true});
    all->emplace(kLayout.name, TensorAttribute{.kind = TensorAttribute::Kind::Fact, .fact = &kLayout});
    for (const auto& [own, kind] : kOfGradients) all->emplace(own, TensorAttribute{.kind = kind});
    return all;
  }();
  return find_attribute(*rows, name);
}

const TensorCallable* find(PyObject* callable) { return callables().find(callable); }

// What regions call as it is: objects of some types, and functions whose addresses are in sets of torch's. Filled under
// the GIL and never released.
struct Opaques {
  std::vector<PyTypeObject*> types;
  std::vector<PyObject*> addresses;
  PyObject* tracer = nullptr;
};
Opaques& opaques() {
  static auto* all = new Opaques;
  return *all;
}

bool is_opaque(PyObject* callable) {
  const Opaques& known = opaques();
  if (std::ranges::find(known.types, Py_TYPE(callable)) != known.types.end()) return true;
  if (!PyFunction_Check(callable) || known.addresses.empty()) return false;
  Ref address = check(PyLong_FromVoidPtr(callable));
  return std::ranges::any_of(known.addresses, [&](PyObject* set) {
    int found = PySet_Contains(set, address);
    if (found < 0) throw PythonError();
    return found > 0;
  });
}

BorrowedRef opaque_tracer() { return opaques().tracer; }

PyObject* recorder_object = nullptr;  // never released
BorrowedRef recorder() { return recorder_object; }

// How torch calls the rows of the op table; filled under the GIL and never destroyed.
struct OpNames {
  std::unordered_map<const OpRow*, std::string> paths;
  std::unordered_set<const OpRow*> methods;
};
OpNames& op_names() {
  static auto* all = new OpNames;
  return *all;
}

std::string path_of(const OpRow& row) {
  auto found = op_names().paths.find(&row);
  return found == op_names().paths.end() ? op_path(row) : found->second;
}
bool has_method(const OpRow& row) { return op_names().methods.contains(&row); }

constexpr GraphFace kFace{"torch", path_of, has_method, true};

ValueForm form(BorrowedRef value) { return value_form(own_face(value)); }
Arg argument(const OpRow& row, const Param& param, BorrowedRef value) {
  return arg_from_python(row, param, own_face(value));
}

std::span<const NeutralKeyword> neutral_keywords() {
  static const NeutralKeyword kRows[] = {
      {"layout", layout_object().get()}, {"pin_memory", Py_False}, {"requires_grad", Py_False}};
  return kRows;
}

constexpr TensorFamily kFamily{
    .name = "torch",
    .rank = 1,
    .read = read,
    .is_writable = is_writable,
    .contained = nullptr,
    .wrap = nullptr,
    .empty = empty,
    .alias = alias,
    .written = note_written,
    .writes = counted_writes,
    .parameter_version = parameter_version,
    .result_type = result_type,
    .family_of_result = nullptr,
    .counts_changes = false,
    .state = state,
    .state_text = state_text,
    .state_difference = state_difference,
    .unusual_state = unusual_state,
    .default_dtype = default_dtype,
    .modes = modes,
    .set_modes = set_modes,
    .gradients = &kGradients,
    .thread_count = thread_count,
    .recorder = recorder,
    .watched_flags = nullptr,
    .reads_before_it_writes = false,
    .refuses_overlap = true,
    .may_store = nullptr,
    .may_store_number = nullptr,
    .attribute = attribute,
    .find = find,
    .is_opaque = is_opaque,
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
    .dtype_object = dtype_object,
    .size_object = size_object,
    .size_type = size_type,
    .hash_function = hash_function,
    .form = form,
    .argument = argument,
    .neutral_keywords = neutral_keywords,
    .to_own = own_face,
    .from_own = torch_face,
    .opaque_tracer = opaque_tracer,
    .call_raising = nullptr,
    .over_memory = nullptr,
    .face = &kFace,
    .fake = fake_object,
};

}  // namespace

bool prepare(BorrowedRef module, std::string& why) {
  if (!load(module, why)) return false;
  load_objects(module);
  return true;
}

bool start(std::span<const Sample> samples, std::span<PyTypeObject* const> types, std::string& why) {
  Library& torch = library();
  torch.layout.is_known = find_layout(samples, torch.layout);
  if (torch.layout.impl_in_object < 0 || torch.layout.key_set < 0) {
    why = "its tensors are not laid out as expected";
    return false;
  }
  if (!torch.layout.is_known)
    log_warning(
        "torch's tensors are not laid out as expected: minidynamo reads them by torch's functions, which takes longer");
  torch.plain_keys = samples.front().keys;
  for (const Sample& sample : samples)
    if (sample.is_inference) torch.inference_keys = sample.keys;
  for (PyTypeObject* type : types) {
    Py_INCREF(type);
    register_tensor_type(type, kFamily);
  }
  return true;
}

void add_callable(BorrowedRef callable, TensorCallable meaning) {
  meaning.family = &kFamily;
  callables().add(callable, meaning);
}

void set_opaque_tracer(BorrowedRef tracer) { opaques().tracer = Py_NewRef(tracer.get()); }
void set_recorder(BorrowedRef function) { recorder_object = Py_NewRef(function.get()); }
void add_opaque_type(BorrowedRef type) {
  opaques().types.push_back(reinterpret_cast<PyTypeObject*>(Py_NewRef(type.get())));
}
void add_opaque_addresses(BorrowedRef set) { opaques().addresses.push_back(Py_NewRef(set.get())); }

void name_function(const OpRow& row, std::string path) { op_names().paths.emplace(&row, std::move(path)); }
void name_method(const OpRow& row) { op_names().methods.insert(&row); }

}  // namespace md::torch
