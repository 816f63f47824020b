// x[key] and x[key] = value on symbolic tensors: a chain of views, then at most one gather or scatter by index tensors.
#include <algorithm>
#include <iterator>

#include "frontends/indexing.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/library_borders.h"
#include "symbolic/tensors/masked_updates.h"
#include "symbolic/tensors/sequence_operands.h"
#include "symbolic/tensors/tensor_indexing.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"
#include "symbolic/values/number_types.h"
#include "tensor/memory_overlap.h"

namespace md {

namespace {

bool is_mask(const TensorValue& tensor) {
  return tensor.spec.dtype == DType::bool_ || (tensor.spec.dtype == DType::uint8 && tensor.family->has_byte_masks);
}

// Marks replace symbolic numbers in a key; no program uses such numbers, and no size is near them.
constexpr int64_t kFirstMark = -(int64_t{1} << 60);

// A parsed key; its indices, in order of appearance, are tensors of the graph.
class SymbolicKey {
 public:
  SymbolicKey(Tracer& tracer, const TensorFamily& family, const ValuePtr& key, bool is_recorded)
      : tracer_(tracer), family_(family), is_recorded_(is_recorded) {
    auto items = type_of(key) == &PyTuple_Type ? elements_of(tracer, key) : nullptr;
    if (!items) {
      model_ = model_of(key);
      return;
    }
    model_ = check(PyTuple_New(static_cast<Py_ssize_t>(items->size())));
    for (size_t i = 0; i < items->size(); ++i) PyTuple_SET_ITEM(model_.get(), i, model_of((*items)[i]).release());
  }

  const std::vector<ValuePtr>& indices() const { return indices_; }

  Operand operand_of(const Arg& arg) const {
    Operand operand;
    if (auto* scalar = std::get_if<Scalar>(&arg)) operand = unmarked(*scalar);
    if (auto* dims = std::get_if<DimVec>(&arg)) operand = *dims;
    return operand;
  }

  IndexPlan plan_for(const TensorSpec& spec) const {
    auto fake_of = [this](BorrowedRef place) {
      auto* index = as<TensorValue>(indices_[PyLong_AsSize_t(PyList_GET_ITEM(place.get(), 0))]);
      return Tensor::fake(index->spec);
    };
    try {
      return family_.index(spec, model_.get(), indices_.empty() ? TensorFromKey() : TensorFromKey(fake_of));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::NotImplemented) graph_break(BreakReason::unknown_subscript, error.what());
      raise_here();
    } catch (const PythonError&) {
      raise_here();
    }
  }

 private:
  // The item itself, or for an index tensor a list with its position among them.
  Ref model_of(const ValuePtr& item) {
    if (auto* tensor = as<TensorValue>(item)) {
      ValuePtr number = number_at(tensor);
      return number ? model_of(number) : place_of(indices_of(tensor, item));
    }
    if (type_of(item) == &PyList_Type || type_of(item) == &PyTuple_Type) return place_of(tensor_of_list(item));
    if (has_symbolic_size(tracer_, item)) return marked(item);
    if (Ref constant = constant_of(tracer_, plain_or_itself(tracer_, item, {"__index__"}))) return constant;
    if (std::optional<int64_t> index = int_of(tracer_, item)) return check(PyLong_FromLongLong(*index));
    unknown(item);
  }

  // A number, or a slice of numbers, with symbolic ones replaced by marks.
  Ref marked(const ValuePtr& item) {
    if (auto* slice = as<SliceValue>(item)) {
      Ref start = marked(slice->start), stop = marked(slice->stop), step = constant_of(tracer_, slice->step);
      if (!step) unknown(item);
      return check(PySlice_New(start, stop, step));
    }
    if (!has_symbolic_size(tracer_, item)) {
      Ref constant = constant_of(tracer_, item);
      if (!constant) unknown(item);
      return constant;
    }
    marks_.push_back(*dim_of(tracer_, item));
    return check(PyLong_FromLongLong(kFirstMark + static_cast<int64_t>(marks_.size()) - 1));
  }

  Scalar unmarked(const Scalar& scalar) const {
    int64_t number = scalar.as_int();
    bool is_mark = number >= kFirstMark && number < kFirstMark + static_cast<int64_t>(marks_.size());
    return is_mark ? Scalar::symbolic(marks_[static_cast<size_t>(number - kFirstMark)]) : scalar;
  }

  Ref place_of(ValuePtr index) {
    indices_.push_back(std::move(index));
    return check(Py_BuildValue("[n]", static_cast<Py_ssize_t>(indices_.size()) - 1));
  }

  // A tensor without dims selects as its number does; null for other tensors. Libraries with scalars copy. The backward
  // of a region does not know the sign of the number.
  ValuePtr number_at(TensorValue* tensor) {
    bool is_whole = row(tensor->spec.dtype).category == DTypeCategory::Integer && !is_mask(*tensor);
    if (tensor->spec.rank() > 0 || !is_whole || is_recorded_ || family_.family_of_result != nullptr) return nullptr;
    tracer_.values().guard_tensor(tensor);
    return number_of(tracer_, tensor);
  }

  ValuePtr indices_of(TensorValue* tensor, const ValuePtr& item) {
    static const OpRow* const cast = find_op("cast");
    tracer_.values().guard_tensor(tensor);
    if (is_mask(*tensor)) graph_break(BreakReason::data_dependent_shape, "a tensor at a mask");
    // Where bytes are masks no other dtype without sign is an index.
    bool is_index = !is_inexact(tensor->spec.dtype) && !(is_unsigned(tensor->spec.dtype) && family_.has_byte_masks);
    if (!is_index) raise_here();
    if (tensor->spec.rank() == 0) graph_break(BreakReason::tensor_to_number, "a tensor as an index");
    if (tensor->spec.dtype == DType::int64) return item;
    return call_op(tracer_, *cast, {{item, tracer_.values().constant(family_.dtype_object(DType::int64))}, {}},
                   CallForm::Method);
  }

  Ref plain_list(const ValuePtr& value) {
    Ref list = check(PyList_New(0));
    auto elements = elements_of(tracer_, value);
    for (const ValuePtr& element : *elements) {
      if (is_tensor(element)) unknown(value);
      bool nested = type_of(element) == &PyList_Type || type_of(element) == &PyTuple_Type;
      Ref item = nested ? plain_list(element) : constant_of(tracer_, element);
      if (!item || PyBool_Check(item.get())) unknown(value);
      if (!nested && !PyLong_CheckExact(item.get())) raise_here();
      check_status(PyList_Append(list, item));
    }
    return list;
  }

  // The elements of nested lists of ints in order; a list of another length than its neighbours has no tensor.
  static void collect(BorrowedRef list, DimVec& sizes, int depth, std::vector<int64_t>& elements) {
    Py_ssize_t length = PyList_GET_SIZE(list.get());
    if (depth == sizes.size()) sizes.push_back(length);
    if (sizes[depth].value() != length) raise_here();
    for (Py_ssize_t i = 0; i < length; ++i) {
      BorrowedRef item = PyList_GET_ITEM(list.get(), i);
      bool is_list = PyList_Check(item.get()) != 0;
      if (is_list != (depth + 1 < sizes.size()) && (i > 0 || !is_list)) raise_here();
      if (is_list) {
        collect(item, sizes, depth + 1, elements);
        continue;
      }
      int overflow = 0;
      elements.push_back(PyLong_AsLongLongAndOverflow(item, &overflow));
      if (overflow != 0) raise_here();
    }
  }

  // A list of numbers becomes a constant of the graph.
  ValuePtr tensor_of_list(const ValuePtr& value) {
    DimVec sizes;
    std::vector<int64_t> elements;
    collect(plain_list(value), sizes, 0, elements);
    Tensor tensor = Tensor::empty(TensorSpec::contiguous(DType::int64, sizes));
    if (tensor->numel() != static_cast<int64_t>(elements.size())) raise_here();
    std::ranges::copy(elements, tensor.data<int64_t>());
    Node* constant = tracer_.graph().add_constant("constant", tensor);
    return make_value<TensorValue>(ValueRef{constant, 0}, constant->outs[0].spec, family_);
  }

  [[noreturn]] void unknown(const ValuePtr& item) {
    graph_break(BreakReason::unknown_subscript, str_cat("a tensor at a ", describe(item)));
  }

  Tracer& tracer_;
  const TensorFamily& family_;
  const bool is_recorded_;  // what is done with it has a history
  Ref model_;
  std::vector<ValuePtr> indices_;
  std::vector<Dim> marks_;
};

// The strided view of the tensor after all view steps.
ValuePtr view_at(Tracer& tracer, TensorValue* tensor, const SymbolicKey& key, const std::vector<IndexStep>& steps) {
  ValueRef current = tracer.builder().graph_value(tensor);
  TensorValue* viewed = tensor;
  ValuePtr result(tensor);
  bool grad = tracer.builder().modes(*tensor->family).records_gradient() && tensor->spec.requires_grad;
  for (const IndexStep& step : steps) {
    std::vector<Operand> operands{current};
    for (size_t i = 1; i < step.args.size(); ++i) operands.push_back(key.operand_of(step.args[i]));
    try {
      Node* node = tracer.builder().add_op(*step.row, std::move(operands));
      node->outs[0].spec.requires_grad = grad;
      current = {node, 0};
      auto view = make_value<TensorValue>(current, node->outs[0].spec, *tensor->family);
      tracer.builder().make_alias(view.get(), viewed, *node, 0);
      result = view;
      viewed = as<TensorValue>(result);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      raise_here();
    }
  }
  return result;
}

std::vector<ValuePtr> integers(Tracer& tracer, const DimVec& dims) {
  std::vector<ValuePtr> values;
  for (int i = 0; i < dims.size(); ++i) values.push_back(tracer.values().integer(dims[i].value()));
  return values;
}

// The operands of index and index_put, applied to the strided view.
std::pair<ValuePtr, ValuePtr> places(Tracer& tracer, const SymbolicKey& key, const IndexPlan& plan) {
  return {make_value<SequenceValue>(false, key.indices()),
          make_value<SequenceValue>(false, integers(tracer, plan.dims))};
}

// Whether the strides fall along all dims but these.
bool falls_beside(const TensorSpec& spec, const DimVec& dims) {
  std::optional<Dim> outer;
  for (int i = 0; i < spec.rank(); ++i) {
    if (std::ranges::any_of(dims, [i](Dim dim) { return dim.value() == i; }) || known_equal(spec.sizes[i], 1)) continue;
    if (outer && !known_less(spec.strides[i], *outer) && !known_equal(spec.strides[i], *outer)) return false;
    outer = spec.strides[i];
  }
  return true;
}

// Where strides follow from operands, those of the result follow from the indices', and from the dims that have none.
void refuse_other_order(const TensorFamily& family, const SymbolicKey& key, const TensorSpec& view,
                        const IndexPlan& plan) {
  if (family.result_strides == nullptr) return;
  auto is_in_order = [](const ValuePtr& index) { return as<TensorValue>(index)->spec.is_contiguous(); };
  if (!std::ranges::all_of(key.indices(), is_in_order) || !falls_beside(view, plan.dims))
    graph_break(BreakReason::unknown_subscript, "elements in another order than C's");
}

// Whether the dims of the indices come behind others in the result.
bool moves_dims(const IndexPlan& plan) {
  for (int i = 1; i < plan.dims.size(); ++i)
    if (plan.dims[i].value() != plan.dims[0].value() + i) return false;
  return plan.dims[0].value() > 0;
}

// As NumPy computes it: the dims of the indices first, and then moved, which the strides show.
ValuePtr indexed_in_front(Tracer& tracer, const ValuePtr& view, const SymbolicKey& key, const IndexPlan& plan) {
  static const OpRow* const index = find_op("index");
  static const OpRow* const permute = find_op("permute");
  auto permuted = [&](const ValuePtr& value, const DimVec& order) {
    auto dims = make_value<SequenceValue>(false, integers(tracer, order));
    return call_op(tracer, *permute, {{value, dims}, {}}, CallForm::Method);
  };
  int count = plan.dims.size(), rank = as<TensorValue>(view)->spec.rank();
  auto first = static_cast<int>(plan.dims[0].value());
  DimVec order = plan.dims, leading;
  for (int i = 0; i < count; ++i) leading.push_back(i);
  for (int i = 0; i < rank; ++i)
    if (i < first || i >= first + count) order.push_back(i);
  auto indices = make_value<SequenceValue>(false, key.indices());
  auto dims = make_value<SequenceValue>(false, integers(tracer, leading));
  ValuePtr found = call_op(tracer, *index, {{permuted(view, order), indices, dims}, {}}, CallForm::Function);
  int all = as<TensorValue>(found)->spec.rank(), moved = all - (rank - count);
  DimVec back;
  for (int i = 0; i < first; ++i) back.push_back(moved + i);
  for (int i = 0; i < moved; ++i) back.push_back(i);
  for (int i = moved + first; i < all; ++i) back.push_back(i);
  return permuted(found, back);
}

// x[mask] = number, for a mask over the leading dims of x.
void store_at_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key, const ValuePtr& value) {
  static const OpRow* const masked_fill = find_op("masked_fill");
  static const OpRow* const unsqueeze = find_op("unsqueeze");
  static const OpRow* const cast = find_op("cast");
  auto* mask = as<TensorValue>(key);
  tracer.values().guard_tensor(tensor);
  tracer.values().guard_tensor(mask);
  if (mask->spec.rank() == 0) graph_break(BreakReason::unknown_subscript, "a tensor at a mask without dims");
  // The sizes must be equal here, whereas masked_fill broadcasts.
  if (mask->spec.rank() > tensor->spec.rank()) raise_here();
  for (int i = 0; i < mask->spec.rank(); ++i)
    if (!known_equal(mask->spec.sizes[i], tensor->spec.sizes[i])) raise_here();
  ValuePtr whole = key;
  if (mask->spec.dtype != DType::bool_)
    whole = call_op(tracer, *cast, {{key, tracer.values().constant(tensor->family->dtype_object(DType::bool_))}, {}},
                    CallForm::Method);
  for (int i = mask->spec.rank(); i < tensor->spec.rank(); ++i)
    whole = call_op(tracer, *unsqueeze, {{whole, tracer.values().integer(-1)}, {}}, CallForm::Method);
  call_in_place(tracer, *masked_fill, {{ValuePtr(tensor), whole, value}, {}});
}

// A list of known bools, one per row, becomes the list of selected row numbers. Any other key is returned unchanged.
ValuePtr numbers_of_rows(Tracer& tracer, TensorValue* tensor, const ValuePtr& key) {
  auto elements = type_of(key) == &PyList_Type ? elements_of(tracer, key) : nullptr;
  bool are_bools = elements && !elements->empty() &&
                   std::ranges::all_of(*elements, [](const ValuePtr& each) { return type_of(each) == &PyBool_Type; });
  if (!are_bools || tensor->spec.rank() == 0) return key;
  std::vector<ValuePtr> numbers;
  for (size_t i = 0; i < elements->size(); ++i) {
    Ref constant = constant_of(tracer, (*elements)[i]);
    if (!constant) return key;
    if (constant.get() == Py_True) numbers.push_back(tracer.values().integer(static_cast<int64_t>(i)));
  }
  refuse_unbacked_sizes(tracer, tensor->spec);
  if (tensor->spec.sizes[0].value() != static_cast<int64_t>(elements->size())) raise_here();
  return make_value<SequenceValue>(true, std::move(numbers));
}

// How many dims of the tensor an item of a key stands for, unless it is an Ellipsis.
int dims_of_item(const ValuePtr& item) {
  PyTypeObject* type = type_of(item);
  if (type == Py_TYPE(Py_None) || type == &PyBool_Type) return 0;
  auto* tensor = as<TensorValue>(item);
  return tensor != nullptr && is_mask(*tensor) ? tensor->spec.rank() : 1;
}

// The indices of the elements of a mask, which stands for dims of the tensor from `at` on.
std::vector<ValuePtr> indices_of_mask(Tracer& tracer, const TensorSpec& spec, const ValuePtr& item, int at) {
  static const OpRow* const where = find_op("where.condition");
  auto* mask = as<TensorValue>(item);
  tracer.values().guard_tensor(mask);
  int rank = mask->spec.rank();
  if (at < 0 || at + rank > spec.rank()) raise_here();
  for (int i = 0; i < rank; ++i)
    if (!known_equal(mask->spec.sizes[i], spec.sizes[at + i])) raise_here();
  ValuePtr indices = call_op(tracer, *where, {{item}, {}}, CallForm::Function);
  return as<SequenceValue>(indices)->items;
}

bool is_captured_mask(Tracer& tracer, const ValuePtr& item) {
  auto* tensor = as<TensorValue>(item);
  return tensor != nullptr && tensor->spec.dtype == DType::bool_ && tensor->spec.rank() > 0 &&
         captures_data_sizes(tracer);
}

// The key with index tensors in the place of masks.
ValuePtr without_masks(Tracer& tracer, TensorValue* tensor, const ValuePtr& key) {
  std::vector<ValuePtr> items{key};
  if (auto elements = type_of(key) == &PyTuple_Type ? elements_of(tracer, key) : nullptr) items = *elements;
  auto is_mask_item = [&](const ValuePtr& item) { return is_captured_mask(tracer, item); };
  if (std::ranges::none_of(items, is_mask_item)) return key;
  auto is_ellipsis = [&](const ValuePtr& item) { return type_of(item) == Py_TYPE(Py_Ellipsis); };
  if (std::ranges::count_if(items, is_ellipsis) > 1) raise_here();
  int rest = 0;  // dims that items from here on stand for
  for (const ValuePtr& item : items) rest += is_ellipsis(item) ? 0 : dims_of_item(item);
  int at = 0;
  std::vector<ValuePtr> replaced;
  for (const ValuePtr& item : items) {
    int dims = is_ellipsis(item) ? tensor->spec.rank() - at - rest : dims_of_item(item);
    if (is_mask_item(item))
      std::ranges::copy(indices_of_mask(tracer, tensor->spec, item, at), std::back_inserter(replaced));
    else
      replaced.push_back(item);
    at += dims;
    if (!is_ellipsis(item)) rest -= dims;
  }
  return make_value<SequenceValue>(false, std::move(replaced));
}

// The number that a tensor is as a bound of a slice (its __index__); any other bound is returned unchanged.
ValuePtr bound_of_slice(Tracer& tracer, const ValuePtr& bound) {
  auto* tensor = as<TensorValue>(bound);
  if (tensor == nullptr) return bound;
  tracer.values().guard_tensor(tensor);
  bool is_whole = row(tensor->spec.dtype).category == DTypeCategory::Integer;
  bool is_alone = std::ranges::all_of(tensor->spec.sizes, [](Dim size) { return known_equal(size, 1); });
  bool is_taken = tensor->family->converts_any_rank || tensor->spec.rank() == 0;
  if (!is_whole || !is_alone || !is_taken)
    graph_break(BreakReason::unknown_subscript, "a tensor at a slice with such a bound");
  return number_of(tracer, tensor);
}

// The item with numbers in the place of tensors that bound a slice.
ValuePtr without_tensor_bounds(Tracer& tracer, const ValuePtr& item) {
  auto* slice = as<SliceValue>(item);
  if (slice == nullptr) return item;
  bool any = is_tensor(slice->start) || is_tensor(slice->stop) || is_tensor(slice->step);
  if (!any) return item;
  return make_value<SliceValue>(bound_of_slice(tracer, slice->start), bound_of_slice(tracer, slice->stop),
                                bound_of_slice(tracer, slice->step));
}

ValuePtr without_tensors_in_slices(Tracer& tracer, const ValuePtr& key) {
  auto items = type_of(key) == &PyTuple_Type ? elements_of(tracer, key) : nullptr;
  if (!items) return without_tensor_bounds(tracer, key);
  std::vector<ValuePtr> replaced;
  for (const ValuePtr& item : *items) replaced.push_back(without_tensor_bounds(tracer, item));
  if (replaced == *items) return key;
  return make_value<SequenceValue>(false, std::move(replaced));
}

// Indices and masks out of another library, as tensors of this one. Scalars are numbers, and other dtypes raise.
ValuePtr index_in_library(Tracer& tracer, const TensorFamily& family, const ValuePtr& item) {
  auto* index = as<TensorValue>(item);
  if (index == nullptr || are_kin(*index->family, family) || index->spec.rank() == 0) return item;
  DTypeCategory category = row(index->spec.dtype).category;
  bool is_index = category == DTypeCategory::Integer && index->spec.dtype != DType::uint8;
  if (!is_index && category != DTypeCategory::Bool) return item;
  const LibraryConversion* conversion = find_library_conversion(*index->family, family);
  return conversion != nullptr ? in_library(tracer, item, *conversion) : item;
}

// Libraries with scalars index by rules of their own.
ValuePtr key_in_library(Tracer& tracer, const TensorFamily& family, const ValuePtr& key) {
  if (family.family_of_result != nullptr) return key;
  auto items = type_of(key) == &PyTuple_Type ? elements_of(tracer, key) : nullptr;
  if (!items) return index_in_library(tracer, family, key);
  std::vector<ValuePtr> replaced;
  for (const ValuePtr& item : *items) replaced.push_back(index_in_library(tracer, family, item));
  if (replaced == *items) return key;
  return make_value<SequenceValue>(false, std::move(replaced));
}

ValuePtr plain_key(Tracer& tracer, TensorValue* tensor, const ValuePtr& key) {
  return without_masks(tracer, tensor, numbers_of_rows(tracer, tensor, without_tensors_in_slices(tracer, key)));
}

// x[mask] for a mask over all dims: fewer steps than by indices. Null for other keys.
ValuePtr selected_by_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key) {
  static const OpRow* const masked_select = find_op("masked_select");
  if (!is_captured_mask(tracer, key)) return nullptr;
  auto* mask = as<TensorValue>(key);
  tracer.values().guard_tensor(mask);
  if (mask->spec.rank() != tensor->spec.rank()) return nullptr;
  for (int i = 0; i < mask->spec.rank(); ++i)
    if (!known_equal(mask->spec.sizes[i], tensor->spec.sizes[i])) raise_here();
  return call_op(tracer, *masked_select, {{ValuePtr(tensor), key}, {}}, CallForm::Function);
}

bool has_ellipsis(Tracer& tracer, const ValuePtr& key) {
  auto is_ellipsis = [](const ValuePtr& item) { return type_of(item) == Py_TYPE(Py_Ellipsis); };
  auto items = type_of(key) == &PyTuple_Type ? elements_of(tracer, key) : nullptr;
  return items ? std::ranges::any_of(*items, is_ellipsis) : is_ellipsis(key);
}

// Of a view of rank 0 that subscripts or iteration have made: an element of its own, where the library has scalars.
ValuePtr element_or_view(Tracer& tracer, const ValuePtr& view) {
  static const OpRow* const clone = find_op("clone");
  auto* tensor = as<TensorValue>(view);
  if (tensor->spec.rank() > 0 || family_of_result(tensor->family, 0) == tensor->family) return view;
  return call_op(tracer, *clone, {{view}, {}}, CallForm::Method);
}

// The library stores a number otherwise, or raises.
void require_storable_number(Tracer& tracer, const TensorValue& tensor, const ValuePtr& number) {
  auto may_store = tensor.family->may_store_number;
  if (may_store == nullptr || may_store(tensor.spec.dtype, nullptr)) return;
  static const OpRow* const fill = find_op("fill");
  Ref constant = constant_of(tracer, number);
  Arg known = constant ? tensor.family->argument(*fill, fill->schema.params[1], constant) : Arg();
  const auto* scalar = std::get_if<Scalar>(&known);
  if (scalar == nullptr || !may_store(tensor.spec.dtype, scalar))
    graph_break(BreakReason::tensor_write, str_cat("a number stored into ", row(tensor.spec.dtype).name));
}

// Libraries with scalars convert what is stored at indices, as at slices; others refuse another dtype.
ValuePtr converted_for_store(Tracer& tracer, const TensorValue& target, const ValuePtr& value) {
  static const OpRow* const cast = find_op("cast");
  auto* source = as<TensorValue>(value);
  bool converts =
      source != nullptr && source->spec.dtype != target.spec.dtype && target.family->family_of_result != nullptr;
  if (!converts) return value;
  ValuePtr dtype = tracer.values().constant(target.family->dtype_object(target.spec.dtype));
  return call_op(tracer, *cast, {{value, dtype}, {}}, CallForm::Method);
}

}  // namespace

ValuePtr index_tensor(Tracer& tracer, TensorValue* tensor, const ValuePtr& given) {
  static const OpRow* const index = find_op("index");
  static const OpRow* const alias = find_op("alias");
  tracer.values().guard_tensor(tensor);
  // Subscripts of scalars make arrays of their own.
  if (holds_scalars(*tensor->family))
    graph_break(BreakReason::unknown_subscript, "a scalar of " + std::string(tensor->family->name));
  const ValuePtr key = key_in_library(tracer, *tensor->family, given);
  if (ValuePtr part = part_at_mask(tracer, tensor, key)) return part;
  if (ValuePtr selected = selected_by_mask(tracer, tensor, key)) return selected;
  bool is_recorded = tensor->spec.requires_grad && tracer.builder().modes(*tensor->family).records_gradient();
  SymbolicKey parsed(tracer, *tensor->family, plain_key(tracer, tensor, key), is_recorded);
  IndexPlan plan = parsed.plan_for(tensor->spec);
  if (plan.steps.empty() && plan.indices.empty()) plan.steps.push_back({alias, {Tensor()}});
  ValuePtr view = view_at(tracer, tensor, parsed, plan.steps);
  if (plan.indices.empty()) return has_ellipsis(tracer, key) ? view : element_or_view(tracer, view);
  const TensorSpec& spec = as<TensorValue>(view)->spec;
  refuse_other_order(*tensor->family, parsed, spec, plan);
  if (tensor->family->result_strides != nullptr && moves_dims(plan))
    return indexed_in_front(tracer, view, parsed, plan);
  auto [indices, dims] = places(tracer, parsed, plan);
  return call_op(tracer, *index, {{view, indices, dims}, {}}, CallForm::Function);
}

void store_into_tensor(Tracer& tracer, const ValuePtr& container, const ValuePtr& given_key, const ValuePtr& given) {
  static const OpRow* const copy = find_op("copy");
  static const OpRow* const fill = find_op("fill");
  static const OpRow* const index_put = find_op("index_put");
  static const OpRow* const alias = find_op("alias");
  auto* tensor = as<TensorValue>(container);
  ValuePtr made = tensor_of_sequence(tracer, *tensor->family, given, tensor->spec.dtype);
  const ValuePtr& value = made ? made : given;
  PyTypeObject* type = type_of(value);
  bool is_complex_number = type == &PyComplex_Type && is_complex(tensor->spec.dtype);
  bool is_number = is_real_number_type(type) || is_complex_number;
  auto* source = as<TensorValue>(value);
  if (source == nullptr && !is_number)
    graph_break(BreakReason::tensor_write, str_cat("a ", describe(value), " stored into a tensor"));
  if (is_number && !is_complex_number) require_storable_number(tracer, *tensor, value);
  if (source != nullptr && is_complex(source->spec.dtype) && !is_complex(tensor->spec.dtype))
    graph_break(BreakReason::tensor_write, "complex numbers stored into real ones");
  // Libraries with scalars store those as numbers, which may be out of range of integers.
  DType dtype = tensor->spec.dtype;
  if (source != nullptr && source->family != tensor->family && !is_inexact(dtype) &&
      !is_widening(source->spec.dtype, dtype))
    graph_break(BreakReason::tensor_write, str_cat("a ", describe(value), " stored into ", row(dtype).name));
  const ValuePtr key = key_in_library(tracer, *tensor->family, given_key);
  auto* mask = as<TensorValue>(key);
  if (mask != nullptr && is_mask(*mask) && (is_number || source->spec.rank() == 0))
    return store_at_mask(tracer, tensor, key, value);
  if (store_part_at_mask(tracer, tensor, key, value)) return;
  tracer.values().guard_tensor(tensor);
  bool may_be_recorded = tracer.builder().modes(*tensor->family).records_gradient();
  SymbolicKey parsed(tracer, *tensor->family, plain_key(tracer, tensor, key), may_be_recorded);
  IndexPlan plan = parsed.plan_for(tensor->spec);
  if (plan.steps.empty() && plan.indices.empty()) plan.steps.push_back({alias, {Tensor()}});
  ValuePtr view = view_at(tracer, tensor, parsed, plan.steps);
  if (!plan.indices.empty()) {
    auto [indices, dims] = places(tracer, parsed, plan);
    call_in_place(tracer, *index_put, {{view, indices, dims, converted_for_store(tracer, *tensor, value)}, {}});
    return;
  }
  if (source != nullptr && source->spec.rank() > as<TensorValue>(view)->spec.rank())
    graph_break(BreakReason::tensor_write, "a value of more dims than the place for it");
  if (has_expanded_dim(as<TensorValue>(view)->spec)) raise_here();
  call_in_place(tracer, source != nullptr ? *copy : *fill, {{view, value}, {}});
}

}  // namespace md
