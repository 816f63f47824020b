#include "symbolic/tensors/tensor_data_calls.h"

#include <algorithm>
#include <cstring>

#include "frontends/dtype_object.h"
#include "frontends/promotion.h"
#include "frontends/size_object.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/number_objects.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"

namespace md {

namespace {

// A model of more elements takes longer than the graph saves.
constexpr int64_t kLargestModel = 65536;

// The elements in order: constants, and, one by one, operands.
struct DataPart {
  std::vector<Ref> constants;
  ValuePtr operand;  // null: the constants
};

class TensorData {
 public:
  TensorData(Tracer& tracer, BorrowedRef function, BorrowedRef tensor_function)
      : tracer_(tracer), function_(function), tensor_function_(tensor_function) {}

  ValuePtr run(const CallArgs& args) {
    // new_tensor is a method: its data comes behind the tensor.
    size_t first = !args.positional.empty() && is_tensor(args.positional[0]) && is_method() ? 1 : 0;
    std::vector<Ref> plain;
    for (size_t i = 0; i < args.positional.size(); ++i)
      plain.push_back(i < first ? model_of(args.positional[i]) : plain_object(args.positional[i], i == first));
    Ref keywords = check(PyDict_New());
    for (const auto& [name, value] : args.keywords) {
      bool is_data = PyUnicode_CompareWithASCIIString(name, "data") == 0;
      Ref object = plain_object(value, is_data);
      if (!object) refuse();
      check_status(PyDict_SetItem(keywords, name, object));
    }
    Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(plain.size())));
    for (size_t i = 0; i < plain.size(); ++i) {
      if (!plain[i]) refuse();
      PyTuple_SET_ITEM(positional.get(), i, plain[i].release());
    }
    // Of the same shape and dtype, or an exception.
    Ref made = Ref::steal(PyObject_Call(function_, positional, keywords));
    if (!made) raise_here();
    Tensor tensor = tensor_of_object(made);
    if (tensor.requires_grad()) graph_break(BreakReason::tensor_operands, str_cat(name(), "() that requires grad"));
    tracer_.guards().global_state(default_family());  // the default dtype
    bool has_operands = std::ranges::any_of(parts_, [](const DataPart& part) { return part.operand != nullptr; });
    return has_operands ? assembled(tensor) : constant(tensor);
  }

 private:
  const char* name() const {
    if (is_method()) return reinterpret_cast<PyMethodDescrObject*>(function_.get())->d_method->ml_name;
    bool is_class = PyType_Check(function_.get()) != 0;
    return is_class ? "Tensor" : reinterpret_cast<PyCFunctionObject*>(function_.get())->m_ml->ml_name;
  }
  bool is_method() const { return Py_IS_TYPE(function_.get(), &PyMethodDescr_Type); }
  [[noreturn]] void refuse() const {
    graph_break(BreakReason::tensor_operands, str_cat(name(), "() of data that is not known"));
  }

  // A tensor of the same dtype and sizes without the values; null for one whose sizes vary, or of another family.
  Ref model_of(const ValuePtr& value) {
    auto* tensor = as<TensorValue>(value);
    tracer_.values().guard_tensor(tensor);
    if (tensor->family != &default_family() || any_symbolic(tensor->spec.sizes.span())) return nullptr;
    if (tensor->spec.numel().value() > kLargestModel) return nullptr;
    TensorSpec spec = TensorSpec::contiguous(tensor->spec.dtype, tensor->spec.sizes);
    Tensor model = Tensor::empty(spec);
    size_t bytes = static_cast<size_t>(model->numel()) * item_size(spec.dtype);
    if (bytes > 0) std::memset(model.data<char>(), 0, bytes);
    return default_family().wrap(model);
  }

  // The real object for constants and lists of them, nested, and a model of operands; null if some part is unknown. The
  // identity of an array, a buffer or a deque does not determine the numbers in it.
  Ref plain_object(const ValuePtr& given, bool is_data) {
    if (is_tensor(given)) return is_data ? tensor_part(given) : Ref();
    ValuePtr value =
        number_of_object(tracer_, plain_or_itself(tracer_, given, {"__index__", "__float__"}), NumberUse::Any);
    if (is_data && is_run_time_number(value)) return number_part(value);
    if (Ref constant = scalar_constant(value)) {
      if (is_data) add_constant(constant);
      return constant;
    }
    if (Ref list = list_of(value, is_data)) return list;
    auto* object = as<ObjectValue>(value);
    bool is_held = object != nullptr && can_hold_strongly(object->object.get());
    return is_held ? Ref::share(tracer_.values().identity_of(value)) : Ref();
  }

  // Not a tuple: its elements may be operands.
  Ref scalar_constant(const ValuePtr& value) {
    PyTypeObject* type = type_of(value);
    bool may_hold = type != nullptr && PyType_IsSubtype(type, &PyTuple_Type) && value->kind != ValueKind::Object;
    return may_hold ? Ref() : constant_of(tracer_, value);
  }

  Ref list_of(const ValuePtr& value, bool is_data) {
    bool is_list = type_of(value) != nullptr && PyType_IsSubtype(type_of(value), &PyList_Type) != 0;
    bool is_plain = (is_list && is_plain_list(tracer_, value)) || is_plain_tuple(tracer_, value);
    auto elements = is_plain ? elements_of(tracer_, value) : nullptr;
    if (!elements) return nullptr;
    Ref list = check(PyList_New(0));
    for (const ValuePtr& element : *elements) {
      Ref item = plain_object(element, is_data);
      if (!item) return nullptr;
      check_status(PyList_Append(list, item));
    }
    return list;
  }

  static bool is_run_time_number(const ValuePtr& value) {
    if (value->kind == ValueKind::Number) return true;
    if (auto* computed = as<ComputedValue>(value))
      return !computed->known && (type_of(value) == &PyLong_Type || type_of(value) == &PyFloat_Type);
    auto* object = as<ObjectValue>(value);
    return object != nullptr && object->is_dynamic && !object->value_guarded;
  }

  Ref number_part(const ValuePtr& value) {
    add_operand(value);
    PyTypeObject* type = type_of(value);
    if (type == &PyBool_Type) return Ref::share(Py_False);
    return type == &PyFloat_Type ? check(PyFloat_FromDouble(0)) : check(PyLong_FromLong(0));
  }

  Ref tensor_part(const ValuePtr& value) {
    bool has_history = as<TensorValue>(value)->spec.requires_grad &&
                       tracer_.builder().modes(*as<TensorValue>(value)->family).records_gradient();
    Ref model = has_history ? Ref() : model_of(value);
    if (model) add_operand(value);
    return model;
  }

  void add_operand(const ValuePtr& value) { parts_.push_back({{}, value}); }

  void add_constant(const Ref& constant) {
    bool is_text = PyUnicode_Check(constant.get()) || PyBytes_Check(constant.get());
    if (PySequence_Check(constant.get()) && !is_text) {
      Ref items = check(PySequence_Fast(constant, "a sequence"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        add_constant(Ref::share(PySequence_Fast_GET_ITEM(items.get(), i)));
      return;
    }
    if (parts_.empty() || parts_.back().operand) parts_.emplace_back();
    parts_.back().constants.push_back(Ref::share(constant.get()));
  }

  ValuePtr constant(const Tensor& tensor) {
    static const OpRow* const clone = find_op("clone");
    Node* node = tracer_.builder().add_op(*clone, {ValueRef{tracer_.graph().add_constant("constant", tensor), 0}});
    return make_value<TensorValue>(ValueRef{node, 0}, node->outs[0].spec, default_family());
  }

  ValuePtr call(const char* op, std::vector<ValuePtr> args) {
    return call_op(tracer_, *find_op(op), {std::move(args), {}}, CallForm::Function, &default_family());
  }

  ValuePtr sizes_value(std::span<const Dim> sizes) {
    std::vector<ValuePtr> items;
    for (const Dim& size : sizes) items.push_back(tracer_.values().integer(size.value()));
    return make_value<SequenceValue>(false, std::move(items));
  }

  // A row of the part's elements, in the dtype of the result. Only conversions that fail for no value.
  ValuePtr row_of(const DataPart& part, DType dtype) {
    static PyObject* const kDType = PyUnicode_InternFromString("dtype");
    ValuePtr dtype_value = tracer_.values().constant(dtype_to_python(dtype));
    const DimVec flat{-1}, one{1};
    if (!part.operand) {
      Ref list = check(PyList_New(0));
      for (const Ref& item : part.constants) check_status(PyList_Append(list, item));
      Ref keywords = check(Py_BuildValue("{sO}", "dtype", dtype_to_python(dtype).get()));
      Ref made = check(PyObject_Call(tensor_function_, check(PyTuple_Pack(1, list.get())), keywords));
      return constant(tensor_of_object(made));
    }
    if (auto* tensor = as<TensorValue>(part.operand)) {
      if (promote_types(tensor->spec.dtype, dtype) != dtype) refuse();
      ValuePtr row = call("reshape", {part.operand, sizes_value(flat.span())});
      return tensor->spec.dtype == dtype ? row : call("cast", {row, dtype_value});
    }
    bool fits = type_of(part.operand) == &PyFloat_Type  ? is_floating(dtype)
                : type_of(part.operand) == &PyBool_Type ? true
                                                        : dtype == DType::int64 || is_floating(dtype);
    if (!fits) refuse();
    if (auto* number = as<NumberValue>(part.operand)) {
      Node* node = tracer_.builder().add_op(*find_op("cast"), {number->ref, dtype});
      auto element = make_value<TensorValue>(ValueRef{node, 0}, node->outs[0].spec, default_family());
      return call("reshape", {element, sizes_value(one.span())});
    }
    CallArgs full{{sizes_value(one.span()), part.operand}, {{Ref::share(kDType), dtype_value}}};
    return call_op(tracer_, *find_op("full"), full, CallForm::Function, &default_family());
  }

  ValuePtr assembled(const Tensor& model) {
    std::vector<ValuePtr> rows;
    for (const DataPart& part : parts_) rows.push_back(row_of(part, model->dtype()));
    ValuePtr all =
        rows.size() == 1 ? call("clone", {rows[0]}) : call("cat", {make_value<SequenceValue>(true, std::move(rows))});
    const DimVec sizes = model.spec().sizes;
    return call("reshape", {all, sizes_value(sizes.span())});
  }

  Tracer& tracer_;
  BorrowedRef function_, tensor_function_;
  std::vector<DataPart> parts_;
};

}  // namespace

ValuePtr tensor_of_class(Tracer& tracer, BorrowedRef type, BorrowedRef tensor_function, const CallArgs& args) {
  auto is_int = [](const ValuePtr& value) { return type_of(value) == &PyLong_Type; };
  if (!args.keywords.empty()) raise_here();
  bool is_size = args.positional.size() == 1 && type_of(args.positional[0]) == size_type();
  if (!is_size && !args.positional.empty() && !std::ranges::all_of(args.positional, is_int))
    return tensor_of_data(tracer, type, tensor_function, args);
  std::vector<ValuePtr> sizes = args.positional;
  if (sizes.empty()) sizes.push_back(tracer.values().integer(0));
  tracer.guards().global_state(default_family());  // the default dtype
  ValuePtr size = sizes[0];
  if (!is_size) size = make_value<SequenceValue>(false, std::move(sizes));
  return call_op(tracer, *find_op("zeros"), {{size}, {}}, CallForm::Function, &default_family());
}

ValuePtr tensor_of_data(Tracer& tracer, BorrowedRef function, BorrowedRef tensor_function, const CallArgs& args) {
  return TensorData(tracer, function, tensor_function).run(args);
}

}  // namespace md
