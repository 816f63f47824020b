// Ops on symbolic tensors: arguments become operands, type promotion becomes cast nodes, the shape rule determines the
// result.
#include "symbolic/tensors/tensor_ops.h"

#include "autograd/saved_tensor.h"
#include "frontends/arg_binding.h"
#include "frontends/autocast.h"
#include "frontends/eager.h"
#include "frontends/promotion.h"
#include "graph/failing_ops.h"
#include "graph/gradient.h"
#include "graph/views.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "guards/return_types.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/host_call_sites.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/number_objects.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/tensor_writes.h"
#include "tensor/fill.h"
#include "tensor/ops/data_sizes.h"
#include "tensor/ops/gradient_flow.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/simd/pointwise.h"
#include "tensor/tensor_modes.h"

#include <algorithm>
#include <limits>

namespace md {

namespace {

// Returns true for a number that the capture does not depend on: it becomes an input of the graph.
bool is_runtime_scalar(const ValuePtr& value, ParamType type) {
  if (type != ParamType::Scalar && type != ParamType::Number) return false;
  if (auto* computed = as<ComputedValue>(value))
    return !computed->known && (type_of(value) == &PyLong_Type || type_of(value) == &PyFloat_Type);
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || object->source == nullptr || object->value_guarded) return false;
  return PyLong_CheckExact(object->object.get()) || PyFloat_CheckExact(object->object.get());
}

class OpCapture {
 public:
  OpCapture(Tracer& tracer, const OpRow& row, const TensorFamily& family)
      : tracer_(tracer), row_(&row), family_(&family) {}

  ValuePtr run(const CallArgs& args, CallForm form) {
    find_family(args);
    bind(args);
    if (row_->kind == OpKind::Random) refuse_other_generator();
    if (row_->has(kEagerOnly)) take_size_from_data();
    refuse_new_leaves();
    autocast_operands();
    const std::vector<const TensorSpec*> given = operand_specs();
    promote_operands();
    give_numbers_their_dtype();
    if (family_->result_strides != nullptr && row_->pointwise >= 0) lay_out_operands(given);
    if (tracer_.graph().has_host_call() && may_fail_at_run_time()) keep_apart_from_host_calls();
    Node* node = append();
    write_lent_dtype(*node);
    node->form = form;
    if (is_op(*node, OpKind::HostCall)) refuse_written();
    return wrap(node);
  }

 private:
  // Random numbers of a library are its own, and so is the state that they come from.
  void refuse_other_generator() const {
    if (tracer_.pending().stands_in() || family_ != &default_family())
      graph_break(BreakReason::unknown_c_function, row_->name + ", whose random numbers are another library's");
  }

  // Operations on tensors of two families are left to the library that answers them.
  void find_family(const CallArgs& args) {
    const TensorFamily* found = nullptr;
    for_each_argument(args, [&](const ValuePtr& value) {
      auto* tensor = as<TensorValue>(value);
      if (auto* object = as<ObjectValue>(value); object != nullptr && family_of(object->object) != nullptr)
        graph_break(BreakReason::tensor_operands, str_cat(row_->name, " of a ", describe(value)));
      if (tensor == nullptr || tensor->family == found) return;
      if (found != nullptr && !are_kin(*found, *tensor->family))
        graph_break(BreakReason::tensor_operands,
                    str_cat(row_->name, " of ", found->name, " and ", tensor->family->name, " tensors"));
      if (found == nullptr || tensor->family->rank > found->rank) found = tensor->family;
    });
    if (found != nullptr) family_ = found;
    check_state(tracer_, *family_);
  }

  void bind(const CallArgs& args) {
    values_ = args.positional;
    Ref names = args.keyword_names();
    for (const auto& [name, value] : args.keywords) values_.push_back(value);
    std::vector<ValueForm> forms;
    for (const ValuePtr& value : values_) forms.push_back(form_of(value));
    BoundCall bound = bind_values(forms, args.keywords.empty() ? nullptr : names.get());
    const std::vector<Param>& params = row_->schema.params;
    if (!params.empty()) viewed_at_ = bound.value_of_param[0];
    for (size_t i = 0; i < params.size(); ++i) {
      int at = bound.value_of_param[i];
      if (at == BoundCall::kDefault) {
        operands_.push_back(default_operand(params[i]));
      } else if (params[i].variadic_ints && bound.variadic_count > 0) {
        std::vector<ValuePtr> parts(values_.begin() + at, values_.begin() + at + bound.variadic_count);
        operands_.push_back(operand(params[i], make_value<SequenceValue>(false, std::move(parts))));
      } else {
        operands_.push_back(operand(params[i], values_[at]));
      }
    }
  }

  BoundCall bind_values(std::vector<ValueForm>& forms, PyObject* names) {
    try {
      return bind_overload(forms, names);
    } catch (const Error&) {
      bool has_number = family_->takes_numbers && std::ranges::any_of(forms, is_number_form);
      if (!has_number) refuse_arguments(*family_, row_->name);
    }
    // Numbers in the place of tensors.
    for (ValueForm& form : forms)
      if (is_number_form(form)) form = ValueForm::Tensor;
    try {
      return bind_overload(forms, names);
    } catch (const Error&) {
      refuse_arguments(*family_, row_->name);
    }
  }

  BoundCall bind_overload(std::span<const ValueForm> forms, PyObject* names) {
    BoundOp op = md::bind_overload(*row_, forms, names);
    row_ = op.row;
    return std::move(op.call);
  }

  static bool is_number_form(ValueForm form) {
    return form == ValueForm::Int || form == ValueForm::Float || form == ValueForm::Bool || form == ValueForm::Complex;
  }

  ValueForm form_of(const ValuePtr& value) {
    if (is_tensor(value)) return ValueForm::Tensor;
    if (auto* object = as<ObjectValue>(value)) return family_->form(object->object.get());
    PyTypeObject* type = type_of(value);
    if (is_number_object(value)) return type->tp_as_number->nb_index != nullptr ? ValueForm::Int : ValueForm::Float;
    if (type == &PyLong_Type) return ValueForm::Int;
    if (type == &PyFloat_Type) return ValueForm::Float;
    if (type == &PyBool_Type) return ValueForm::Bool;
    if (type == &PyComplex_Type) return ValueForm::Complex;
    auto* sequence = as<SequenceValue>(value);
    if (sequence == nullptr || !is_list_argument(type)) return ValueForm::Other;
    bool of_tensors = !sequence->items.empty() && is_tensor(sequence->items[0]);
    return of_tensors ? ValueForm::TensorList : ValueForm::IntList;
  }

  static Operand operand_of_arg(const Arg& arg) {
    Operand operand;
    if (auto* scalar = std::get_if<Scalar>(&arg)) operand = *scalar;
    if (auto* dims = std::get_if<DimVec>(&arg)) operand = *dims;
    if (auto* dtype = std::get_if<DType>(&arg)) operand = *dtype;
    if (auto* text = std::get_if<std::string>(&arg)) operand = *text;
    return operand;
  }

  Operand default_operand(const Param& param) const {
    if (!param.default_value) refuse_arguments(*family_, row_->name);
    return operand_of_arg(*param.default_value);
  }

  // Converts number enum members, objects with __index__ or __float__, and tensors without dims, to numbers.
  ValuePtr number_in(const Param& param, const ValuePtr& value) {
    if (auto* tensor = as<TensorValue>(value); tensor != nullptr && tensor->spec.rank() == 0) {
      bool is_number = param.type == ParamType::Scalar || param.type == ParamType::Int;
      return is_number ? number_of(tracer_, tensor) : value;
    }
    if (!has_user_type(value)) return value;
    bool takes_float = param.type == ParamType::Number || param.type == ParamType::Scalar ||
                       param.type == ParamType::Float || param.type == ParamType::Any;
    bool takes_number = takes_float || param.type == ParamType::Int || param.type == ParamType::IntList;
    ValuePtr plain = plain_or_itself(tracer_, value, {"__index__", "__int__", "__float__"});
    if (plain != value || !takes_number) return plain;
    return number_of_object(tracer_, value, takes_float ? NumberUse::Any : NumberUse::Index);
  }

  Operand operand(const Param& param, const ValuePtr& given) {
    ValuePtr value = number_in(param, given);
    if (auto* tensor = as<TensorValue>(value)) {
      // The program's own shape function runs at capture only and may read the sizes.
      if (row_->kind == OpKind::HostCall) specialise(tracer_, tensor->spec);
      if (param.type != ParamType::Tensor && param.type != ParamType::Number)
        graph_break(BreakReason::tensor_operands, str_cat(row_->name, ": a tensor as ", param.name));
      return tracer_.builder().graph_value(tensor);
    }
    if (auto* number = as<NumberValue>(value); number != nullptr && !is_for_size(param, number)) {
      if (!takes_numbers_of_the_graph() || param.type != ParamType::Number)
        graph_break(BreakReason::tensor_to_number, str_cat(row_->name, ": ", param.name, " out of a tensor"));
      numbers_.push_back(operands_.size());
      return number->ref;
    }
    if (param.type == ParamType::Tensor && family_->takes_numbers) return number_operand(param, value);
    if (param.type == ParamType::TensorList) {
      auto elements = list_elements(value);
      if (!elements) graph_break(BreakReason::tensor_operands, str_cat(row_->name, ": ", describe(value)));
      std::vector<ValueRef> refs;
      for (const ValuePtr& element : *elements) {
        auto* tensor = as<TensorValue>(element);
        if (tensor == nullptr) raise_here();
        if (row_->kind == OpKind::HostCall) specialise(tracer_, tensor->spec);
        refs.push_back(tracer_.builder().graph_value(tensor));
      }
      return refs;
    }
    if (row_->kind == OpKind::HostCall && has_symbolic_size(tracer_, value)) constant_of(tracer_, value);
    return number_operand(param, value);
  }

  Operand number_operand(const Param& declared, const ValuePtr& value) {
    Param param = declared;
    if (param.type == ParamType::Tensor) param.type = ParamType::Number;
    bool takes_complex = takes_complex_number(*row_, family_->takes_numbers ? param : declared);
    if (type_of(value) == &PyComplex_Type && takes_complex) return complex_operand(value);
    if (!tracer_.shapes().is_unbacked(value) && is_runtime_scalar(value, param.type)) {
      runtime_scalars_.emplace_back(operands_.size(), value);
      refuse_unbacked(tracer_, value);
      return tracer_.builder().scalar_input(value);
    }
    return constant_operand(param, value);
  }

  // In the widest dtype, until promotion says in which.
  Operand complex_operand(const ValuePtr& value) {
    Ref constant = constant_of(tracer_, value);
    if (!constant) graph_break(BreakReason::tensor_operands, str_cat(row_->name, " with a ", describe(value)));
    complex_numbers_.push_back({operands_.size(), PyComplex_AsCComplex(constant)});
    return complex_tensor(complex_numbers_.back().number, DType::complex128);
  }

  ValueRef complex_tensor(Py_complex number, DType dtype) {
    static const OpRow* const row = find_op("complex_number");
    if (dtype == DType::complex64 && !(fits(dtype, Scalar(number.real)) && fits(dtype, Scalar(number.imag))))
      graph_break(BreakReason::tensor_operands, row_->name + " with a number that complex64 does not hold");
    return {tracer_.builder().add_op(*row, {Scalar(number.real), Scalar(number.imag), dtype}), 0};
  }

  bool is_complex_number(size_t at) const {
    return std::ranges::any_of(complex_numbers_, [at](const ComplexNumber& each) { return each.at == at; });
  }

  // What is written into a tensor has its dtype.
  DType complex_element_dtype() const {
    auto* self = std::get_if<ValueRef>(&operands_[0]);
    DType dtype = self == nullptr ? DType::complex128 : tracer_.graph().info(*self).spec.dtype;
    if (!is_complex(dtype)) graph_break(BreakReason::tensor_operands, row_->name + " with a complex number");
    return dtype;
  }

  void settle_complex_numbers(const std::vector<std::optional<DType>>& casts) {
    for (const ComplexNumber& each : complex_numbers_) {
      bool is_promoted = each.at < casts.size() && casts[each.at];
      DType dtype = is_promoted ? *casts[each.at] : complex_element_dtype();
      if (dtype != DType::complex128) operands_[each.at] = complex_tensor(each.number, dtype);
    }
  }

  // Sequences other than tuples and lists are refused by the op itself; null: the elements are unknown.
  std::unique_ptr<std::vector<ValuePtr>> list_elements(const ValuePtr& value) {
    auto elements = elements_of(tracer_, value);
    if (elements && !is_list_argument(type_of(value))) raise_here();
    return elements;
  }

  // Returns true if the sizes of the result may depend on the number: it becomes an unbacked size.
  static bool is_for_size(const Param& param, const NumberValue* number) {
    bool takes_sizes =
        param.type == ParamType::Int || param.type == ParamType::IntList || param.type == ParamType::Scalar;
    return takes_sizes && number->type == &PyLong_Type;
  }

  // A size, or a list of numbers that contains sizes; nullopt otherwise.
  std::optional<Operand> symbolic_operand(const Param& param, const ValuePtr& value) {
    bool takes_one = param.type == ParamType::Int || param.type == ParamType::Scalar || param.type == ParamType::Number;
    if ((!takes_one && param.type != ParamType::IntList) || !has_symbolic_size(tracer_, value)) return std::nullopt;
    if (takes_one) {
      std::optional<Dim> dim = dim_of(tracer_, value);
      return dim ? std::optional<Operand>(Scalar::symbolic(*dim)) : std::nullopt;
    }
    std::vector<ValuePtr> items{value};
    if (auto elements = list_elements(value)) items = *elements;
    DimVec dims;
    for (const ValuePtr& item : items) {
      std::optional<Dim> dim = dim_of(tracer_, item);
      std::optional<int64_t> number = dim ? std::nullopt : int_of(tracer_, item);
      if (!dim && !number) return std::nullopt;
      dims.push_back(dim ? *dim : Dim(*number));
      // Negative numbers have a special meaning: specialise to the number.
      if (dims[dims.size() - 1].is_symbolic() && known_less(dims[dims.size() - 1], 0))
        dims[dims.size() - 1] = dims[dims.size() - 1].value();
    }
    return dims;
  }

  Operand constant_operand(const Param& param, const ValuePtr& value) {
    if (row_->kind != OpKind::HostCall) {
      if (std::optional<Operand> symbolic = symbolic_operand(param, value)) return *symbolic;
    }
    Ref constant = constant_of(tracer_, value);
    if (!constant) {
      // A list of ints created in the trace, or a constant object of the package (Size).
      if (auto elements = list_elements(value)) {
        for (ValuePtr& element : *elements) element = number_in(param, element);
        constant = constant_of(tracer_, make_value<SequenceValue>(false, *elements));
      } else if (auto* object = as<ObjectValue>(value)) {
        // A dtype or device is guarded by identity; any other object may be converted to another number next time.
        if (can_hold_strongly(object->object.get()))
          constant = Ref::share(tracer_.values().identity_of(value));
        else if (family_->form(object->object.get()) == ValueForm::Other)
          refuse_arguments(*family_, row_->name);
      }
    }
    if (!constant)
      graph_break(BreakReason::tensor_operands, str_cat(row_->name, ": ", param.name, " is a ", describe(value)));
    try {
      Arg arg = family_->argument(*row_, param, constant.get());
      if (std::holds_alternative<Tensor>(arg) || std::holds_alternative<std::vector<Tensor>>(arg))
        graph_break(BreakReason::tensor_operands, str_cat(row_->name, ": ", param.name));
      return operand_of_arg(arg);
    } catch (const Error&) {
      refuse_arguments(*family_, row_->name);
    } catch (const PythonError&) {
      refuse_arguments(*family_, row_->name);
    }
  }

  // Pointwise ops, where a 0-dim tensor acts as the number would. Half types take a number unconverted.
  bool takes_numbers_of_the_graph() const {
    bool pointwise = row_->kind == OpKind::PointwiseBinary || row_->kind == OpKind::Compare;
    return pointwise && row_->pointwise >= 0 && !row_->has(kChoosesByNumber);
  }

  bool is_number(size_t at) const { return std::find(numbers_.begin(), numbers_.end(), at) != numbers_.end(); }

  // A number is converted to the dtype of the tensor operand, as a known one is.
  void give_numbers_their_dtype() {
    if (numbers_.empty()) return;
    std::optional<DType> dtype;
    for (size_t i = 0; i < operands_.size(); ++i) {
      auto* ref = std::get_if<ValueRef>(&operands_[i]);
      if (ref != nullptr && !is_number(i) && !tracer_.graph().info(*ref).is_scalar)
        dtype = tracer_.graph().info(*ref).spec.dtype;
    }
    if (!dtype || *dtype == DType::float16 || *dtype == DType::bfloat16 || is_complex(*dtype))
      graph_break(BreakReason::tensor_to_number, str_cat(row_->name, " with a number out of a tensor"));
    for (size_t i : numbers_) operands_[i] = cast(std::get<ValueRef>(operands_[i]), *dtype);
  }

  PromotionOperand promotion_operand(const Operand& operand, bool is_number = false) const {
    PromotionOperand result;
    if (is_number) {
      result.kind = PromotionOperand::Kind::Scalar;
      result.category = row(tracer_.graph().info(std::get<ValueRef>(operand)).spec.dtype).category;
      return result;
    }
    if (auto* ref = std::get_if<ValueRef>(&operand)) {
      const ValueInfo& info = tracer_.graph().info(*ref);
      if (info.is_scalar) {
        result.kind = PromotionOperand::Kind::Scalar;
        result.category = info.scalar_kind == Scalar::Kind::Float ? DTypeCategory::Floating : DTypeCategory::Integer;
      } else {
        result.kind = PromotionOperand::Kind::Tensor;
        result.dtype = info.spec.dtype;
        result.rank = info.spec.rank();
      }
    } else if (auto* scalar = std::get_if<Scalar>(&operand)) {
      result.kind = PromotionOperand::Kind::Scalar;
      result.category = scalar->category();
      result.number = scalar;
    }
    return result;
  }

  ValueRef cast(ValueRef ref, DType dtype) {
    static const OpRow* const row = find_op("cast");
    if (tracer_.graph().info(ref).spec.dtype == dtype) return ref;
    Node* node = tracer_.builder().add_op(*row, {ref, dtype});
    return {node, 0};
  }

  template <typename Visit>
  void for_each_tensor_operand(Visit visit) {
    for (Operand& operand : operands_) {
      if (auto* ref = std::get_if<ValueRef>(&operand); ref != nullptr && !tracer_.graph().info(*ref).is_scalar)
        visit(*ref);
      if (auto* refs = std::get_if<std::vector<ValueRef>>(&operand)) std::ranges::for_each(*refs, visit);
    }
  }

  void autocast_operands() {
    if (family_ != &default_family() || !row_->follows_autocast()) return;
    const AutocastState& state = tracer_.builder().modes().autocast;
    if (!state.enabled) return;
    std::vector<DType> dtypes;
    for_each_tensor_operand([&](ValueRef ref) { dtypes.push_back(tracer_.graph().info(ref).spec.dtype); });
    DType target = autocast_target(state, dtypes);
    for_each_tensor_operand([&](ValueRef& ref) {
      DType dtype = tracer_.graph().info(ref).spec.dtype;
      if (dtype == target || !is_autocast_eligible(dtype)) return;
      ref = cast(ref, target);
      viewed_at_ = -1;  // a view of what nothing else refers to
    });
  }

  DType autocast_target(const AutocastState& state, std::span<const DType> dtypes) const {
    try {
      return autocast_dtype(*row_, state.dtype, dtypes);
    } catch (const Error&) {
      raise_here();
    }
  }

  void promote_operands() {
    try {
      promote_lists();
      std::vector<PromotionOperand> kinds;
      for (size_t i = 0; i < operands_.size(); ++i)
        if (!row_->schema.params[i].promotes) {
          kinds.emplace_back();
        } else if (is_complex_number(i)) {
          kinds.push_back({.kind = PromotionOperand::Kind::Scalar, .category = DTypeCategory::Complex});
        } else {
          kinds.push_back(promotion_operand(operands_[i], is_number(i)));
        }
      auto casts = family_->promote(*row_, kinds);
      for (size_t i = 0; i < operands_.size(); ++i) {
        if (is_number(i) || is_complex_number(i)) continue;
        if (i < casts.size() && casts[i] && kinds[i].kind == PromotionOperand::Kind::Scalar) {
          operands_[i] = tensor_of_number(operands_[i], *casts[i]);
          continue;
        }
        auto* ref = std::get_if<ValueRef>(&operands_[i]);
        if (i < casts.size() && casts[i] && ref != nullptr && !tracer_.graph().info(*ref).is_scalar)
          operands_[i] = cast(*ref, *casts[i]);
      }
      settle_complex_numbers(casts);
    } catch (const Error&) {
      // What NumPy, say, promotes otherwise is not known to raise.
      if (family_->takes_numbers) refuse_arguments(*family_, row_->name);
      raise_here();
    }
  }

  // A number that takes part as an element of this dtype would.
  ValueRef tensor_of_number(const Operand& number, DType dtype) {
    static const OpRow* const full = find_op("full");
    Node* node = tracer_.builder().add_op(*full, {DimVec(), number, dtype});
    return {node, 0};
  }

  // cat and stack: one dtype for all elements.
  void promote_lists() {
    if (row_->promotion == Promotion::None) return;
    for (Operand& operand : operands_) {
      auto* refs = std::get_if<std::vector<ValueRef>>(&operand);
      if (refs == nullptr) continue;
      std::vector<PromotionOperand> kinds;
      for (ValueRef ref : *refs) kinds.push_back(promotion_operand(ref));
      auto casts = family_->promote(*row_, kinds);
      for (size_t i = 0; i < refs->size(); ++i)
        if (i < casts.size() && casts[i]) (*refs)[i] = cast((*refs)[i], *casts[i]);
    }
  }

  // The sizes of the result depend on the numbers: specialise the capture to them.
  void fix_runtime_scalars() {
    for (auto& [at, value] : runtime_scalars_) operands_[at] = constant_operand(row_->schema.params[at], value);
  }

  // Whether the dtype holds the number, guarded: a constant that it does not hold raises.
  bool is_in_range(const ValuePtr& number, DType dtype) {
    const double most =
        dtype == DType::float64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
    auto holds = [&](ScalarOp comparison, double bound) {
      ValuePtr limit = tracer_.values().constant(check(PyFloat_FromDouble(bound)));
      ValuePtr outcome = computed(tracer_, comparison, {number, limit});
      return outcome && truth_of(tracer_, outcome).value_or(false);
    };
    return holds(ScalarOp::GreaterEqual, -most) && holds(ScalarOp::LessEqual, most);
  }

  // A factor that varies from run to run multiplies its operand in an op of its own: the row takes a constant one.
  bool takes_factor_apart() {
    static const OpRow* const mul = find_op("mul");
    struct Factor {
      const OpRow* row;
      const char* name;
      size_t operand;
    };
    static const Factor kFactors[] = {{find_op("add"), "alpha", 1},
                                      {find_op("sub"), "alpha", 1},
                                      {find_op("addcmul"), "value", 1},
                                      {find_op("addcdiv"), "value", 1}};
    auto factor = std::ranges::find(kFactors, row_, &Factor::row);
    if (factor == std::end(kFactors) || runtime_scalars_.size() != 1) return false;
    const auto& [at, value] = runtime_scalars_[0];
    auto* scaled = std::get_if<ValueRef>(&operands_[factor->operand]);
    bool varies = value->kind == ValueKind::Computed || is_dynamic(value);
    if (!varies || scaled == nullptr || static_cast<int>(at) != row_->schema.find(factor->name)) return false;
    const ValueInfo& info = tracer_.graph().info(*scaled);
    if (info.is_scalar || (info.spec.dtype != DType::float32 && info.spec.dtype != DType::float64)) return false;
    if (!is_in_range(value, info.spec.dtype)) return false;
    Node* product = tracer_.builder().add_op(*mul, {*scaled, operands_[at]});
    product->outs[0].spec.requires_grad =
        info.spec.requires_grad && tracer_.builder().modes(*family_).records_gradient();
    operands_[factor->operand] = ValueRef{product, 0};
    operands_[at] = Scalar(int64_t{1});
    return true;
  }

  // The graph is run where our own default dtype counts.
  void write_lent_dtype(Node& node) const {
    int param = row_->kind == OpKind::Creation ? row_->schema.find("dtype") : -1;
    if (param < 0 || default_dtype() == own_default_dtype()) return;
    Operand& dtype = node.operands[static_cast<size_t>(param)];
    if (std::holds_alternative<std::monostate>(dtype)) dtype = node.outs[0].spec.dtype;
  }

  Node* append() {
    try {
      try {
        return tracer_.builder().add_op(*row_, operands_);
      } catch (const UnknownScalarError&) {
        if (!takes_factor_apart()) fix_runtime_scalars();
        return tracer_.builder().add_op(*row_, operands_);
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      // NumPy, say, has a loop for these dtypes, as their promotion has shown.
      if (error.kind() == ErrorKind::NotImplemented && family_->takes_numbers && row_->pointwise >= 0)
        graph_break(BreakReason::tensor_operands, error.what());
      raise_here(error.what());  // the op would raise at run time: left to the interpreter
    }
  }

  std::vector<const TensorSpec*> operand_specs() const {
    std::vector<const TensorSpec*> specs;
    for (const Operand& operand : operands_) {
      auto* ref = std::get_if<ValueRef>(&operand);
      if (ref != nullptr && !tracer_.graph().info(*ref).is_scalar) specs.push_back(&tracer_.graph().info(*ref).spec);
    }
    return specs;
  }

  // The layout that the library gives the result of these operands, if it is not ours.
  std::optional<TensorSpec> layout_in_library(const std::vector<const TensorSpec*>& specs) const {
    if (std::ranges::all_of(specs, [](const TensorSpec* spec) { return spec->is_contiguous(); })) return std::nullopt;
    auto agrees = [&](const TensorSpec* spec) {
      return same(spec->sizes, specs[0]->sizes) && same(spec->strides, specs[0]->strides);
    };
    if (std::ranges::all_of(specs, agrees)) return std::nullopt;
    try {
      TensorSpec result = infer_outs(*row_, operands_)[0].spec;
      DimVec strides = family_->result_strides(result.sizes, specs);
      if (lies_as(result, strides)) return std::nullopt;
      result.strides = strides;
      return result;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      return std::nullopt;  // it raises
    }
  }

  // A copy whose dims lie in memory in the order of those of the layout.
  ValueRef copied_as(ValueRef value, const TensorSpec& layout) {
    static const OpRow *const clone = find_op("clone"), *const permute = find_op("permute");
    DimVec outermost_first, back;
    for (int dim = 0; dim < layout.rank(); ++dim) outermost_first.push_back(dim);
    std::stable_sort(outermost_first.begin(), outermost_first.end(), [&](Dim a, Dim b) {
      return layout.strides[static_cast<int>(b.value())].hint() < layout.strides[static_cast<int>(a.value())].hint();
    });
    back.resize(layout.rank());
    for (int place = 0; place < layout.rank(); ++place) back[static_cast<int>(outermost_first[place].value())] = place;
    ValueRef turned{tracer_.builder().add_op(*permute, {value, outermost_first}), 0};
    ValueRef copy{tracer_.builder().add_op(*clone, {turned, std::string("contiguous_format")}), 0};
    return {tracer_.builder().add_op(*permute, {copy, back}), 0};
  }

  // Where operands disagree, our rule follows the first one; libraries may prefer another order, which follows from the
  // operands as they were given: a cast one repeats no elements.
  void lay_out_operands(const std::vector<const TensorSpec*>& given) {
    std::optional<TensorSpec> layout = layout_in_library(given);
    if (!layout) return;
    for (Operand& operand : operands_) {
      auto* ref = std::get_if<ValueRef>(&operand);
      if (ref == nullptr || tracer_.graph().info(*ref).is_scalar) continue;
      if (!same(tracer_.graph().info(*ref).spec.sizes, layout->sizes)) continue;
      operand = copied_as(*ref, *layout);
      if (lies_as(infer_outs(*row_, operands_)[0].spec, layout->strides)) return;
    }
    graph_break(BreakReason::tensor_operands, row_->name + " of differently laid out arrays");
  }

  bool may_fail_at_run_time() const {
    try {
      return may_fail(*row_, operands_, infer_outs(*row_, operands_));
    } catch (const UnknownScalarError&) {
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      raise_here(error.what());
    }
  }

  // After a host call the interpreter cannot run the region again: an exception of a later step has neither its line
  // nor its handlers.
  void keep_apart_from_host_calls() const {
    if (!tracer_.frames().innermost().policy->fullgraph) graph_break(BreakReason::call_out, row_->name);
    auto is_committed = [this](ValueRef value) {
      for (const auto& node : tracer_.graph().nodes()) {
        if (!is_made_once(*node)) continue;
        if (value.node == node.get()) return true;
        for (const Operand& operand : node->operands)
          if (auto* ref = std::get_if<ValueRef>(&operand); ref != nullptr && *ref == value) return true;
      }
      return false;
    };
    bool safe = may_call_host(tracer_);
    for (const auto& [original, now] : tracer_.builder().written_values()) safe = safe && is_committed(now);
    if (!safe) graph_break(BreakReason::caught_call_out, row_->name + " after a custom operator");
  }

  // Replaces the op by one that takes the size, which another op of the graph counts.
  void take_size_from_data() {
    const DataSized* ops = data_sized(*row_);
    if (ops == nullptr || !captures_data_sizes(tracer_))
      graph_break(BreakReason::data_dependent_shape, std::string(python_name(*row_)));
    try {
      Scalar size = Scalar::symbolic(counted_size(tracer_, *ops->count, operands_));
      operands_.emplace_back().emplace<Scalar>(size);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      raise_here(error.what());
    }
    row_ = ops->sized;
  }

  // zeros(2, requires_grad=True) is a leaf, but results of a graph are not.
  void refuse_new_leaves() const {
    int param = row_->schema.find("requires_grad");
    auto* asked = param < 0 ? nullptr : std::get_if<Scalar>(&operands_[static_cast<size_t>(param)]);
    if (asked != nullptr && asked->as_int() != 0)
      graph_break(BreakReason::tensor_operands, row_->name + "() that requires grad");
  }

  // A custom op may keep or write its arguments: they must be the tensors themselves.
  void refuse_written() const {
    if (tracer_.shapes().reads_elements())
      graph_break(BreakReason::tensor_to_number, row_->name + " beside a number out of a tensor");
    for (const ValuePtr& value : values_) {
      auto* tensor = as<TensorValue>(value);
      if (tensor != nullptr && tensor->base != nullptr && tensor->base->version > 0)
        graph_break(BreakReason::tensor_write, row_->name + " of a tensor that was written in this region");
    }
  }

  // The tensor that a view is taken of: the value bound to parameter 0.
  ValuePtr viewed(const Node& node) const {
    if (!is_op(node, OpKind::View) || viewed_at_ < 0 || !is_strided_view(node)) return nullptr;
    const ValuePtr& value = values_[static_cast<size_t>(viewed_at_)];
    return is_tensor(value) ? value : nullptr;
  }

  ValuePtr wrap(Node* node) {
    bool grad =
        tracer_.builder().modes(*family_).records_gradient() && passes_gradient(*row_) && any_requires_grad(operands_);
    std::vector<ValuePtr> results;
    ValuePtr base = viewed(*node);
    if (grad && has_saved_tensor_hooks()) graph_break(BreakReason::backward, "hooks of saved tensors");
    if (base && node->outs.size() == 1 && row_->is_argument(as<TensorValue>(base)->spec, node->outs[0].spec))
      return base;
    for (size_t i = 0; i < node->outs.size(); ++i) {
      TensorSpec& spec = node->outs[i].spec;
      spec.requires_grad = grad && is_inexact(spec.dtype);
      const TensorFamily* family = base ? as<TensorValue>(base)->family : family_of_result(family_, spec.rank());
      if (!family->dtype_object(spec.dtype))
        graph_break(BreakReason::unknown_c_function, str_cat(row_->name, ", whose result is ", row(spec.dtype).name));
      auto result = make_value<TensorValue>(ValueRef{node, static_cast<int>(i)}, spec, *family);
      if (base) tracer_.builder().make_alias(result.get(), as<TensorValue>(base), *node, static_cast<int>(i));
      results.push_back(result);
    }
    tracer_.builder().require_derivative(*node);
    const std::vector<ParamType>& returns = row_->schema.returns;
    if (returns.size() == 1 && returns[0] == ParamType::Tensor) return results[0];
    auto sequence = make_value<SequenceValue>(false, std::move(results));
    PyTypeObject* named = returns.size() > 1 ? return_type_of(*row_) : nullptr;
    if (named != nullptr)
      sequence->type = tracer_.values().constant(object_in(*family_, reinterpret_cast<PyObject*>(named)));
    return sequence;
  }

  Tracer& tracer_;
  const OpRow* row_;  // the overload that accepts the bound values
  const TensorFamily* family_;
  std::vector<ValuePtr> values_;
  std::vector<Operand> operands_;
  std::vector<std::pair<size_t, ValuePtr>> runtime_scalars_;  // index in operands_, value
  struct ComplexNumber {
    size_t at;  // in operands_
    Py_complex number;
  };
  std::vector<ComplexNumber> complex_numbers_;  // Python's
  std::vector<size_t> numbers_;                 // indices of operands that are numbers of the graph
  int viewed_at_ = -1;                          // index in values_
};

}  // namespace

namespace {

// A failing region does not restore the state of a separate generator: calls with one are left to the interpreter.
CallArgs without_generator(Tracer& tracer, const OpRow& row, const CallArgs& args) {
  if (!same_object(tracer, *args.keyword("generator"), tracer.values().none()))
    graph_break(BreakReason::tensor_operands, row.name + " with generator=");
  CallArgs plain{args.positional, {}};
  for (const auto& keyword : args.keywords)
    if (PyUnicode_CompareWithASCIIString(keyword.first, "generator") != 0) plain.keywords.push_back(keyword);
  return plain;
}

}  // namespace

void refuse_arguments(const TensorFamily& family, std::string_view name) {
  if (&family == &default_family()) raise_here();
  PyErr_Clear();
  graph_break(BreakReason::tensor_operands, str_cat(name, "() with arguments that nothing is known of"));
}

void check_state(Tracer& tracer, const TensorFamily& family) {
  tracer.builder().note_family(family);
  const char* unusual = family.unusual_state != nullptr ? family.unusual_state() : nullptr;
  bool stands_in = &family == &default_family() && tracer.pending().stands_in();
  bool fits = stands_in || tracer.builder().lend_default_dtype(family);
  if (unusual == nullptr && fits) return;
  if (unusual == nullptr) unusual = "the default dtypes of the libraries differ";
  tracer.guards().global_state(family);
  leave_frame(BreakReason::library_state, unusual);
}

ValuePtr call_op(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form, const TensorFamily* family) {
  if (row.takes_generator() && args.keyword("generator") != nullptr)
    return call_op(tracer, row, without_generator(tracer, row, args), form, family);
  if (args.keyword("out") != nullptr && row.takes_out()) return call_with_out(tracer, row, args, form);
  if (row.has(kEagerOnly) && data_sized(row) == nullptr) graph_break(BreakReason::data_dependent_shape, row.name);
  return OpCapture(tracer, row, family != nullptr ? *family : default_family()).run(args, form);
}
}  // namespace md
