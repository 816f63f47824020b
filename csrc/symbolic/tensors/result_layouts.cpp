#include "symbolic/tensors/result_layouts.h"

#include <algorithm>

#include "frontends/memory_format_object.h"
#include "frontends/tensor_language.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

constexpr std::string_view kContiguous = "contiguous_format";

class Layout {
 public:
  Layout(Tracer& tracer, const TensorCallable& callable, const CallArgs& args)
      : tracer_(tracer), callable_(callable), args_(args) {}

  ValuePtr apply(const ValuePtr& value) {
    auto* tensor = as<TensorValue>(value);
    if (tensor == nullptr || is_argument(value)) return value;
    if (callable_.layout == ResultLayout::Preserved) return preserved(tensor, value);
    if (callable_.layout == ResultLayout::Contiguous)
      return tensor->spec.is_contiguous() ? value : cloned(value, kContiguous);
    std::string_view wanted = format();
    int rank = tensor->spec.rank();
    if (wanted != kContiguous && rank != (wanted == "channels_last" ? 4 : 5)) return value;
    if ((rank != 4 && rank != 5) || lies_in_format(tensor->spec, wanted)) return value;
    return cloned(value, wanted);
  }

 private:
  bool is_argument(const ValuePtr& value) const {
    return std::ranges::any_of(args_.positional, [&](const ValuePtr& each) { return each.get() == value.get(); });
  }

  const TensorValue* tensor_at(size_t i) const {
    return i < args_.positional.size() ? as<TensorValue>(args_.positional[i]) : nullptr;
  }

  std::string_view format() {
    switch (callable_.layout) {
      case ResultLayout::Computed:
      case ResultLayout::Contiguous:
      case ResultLayout::Preserved:
        return kContiguous;
      case ResultLayout::First:
        return of(tensor_at(0));
      case ResultLayout::Any:
        return of(tensor_at(0)) != kContiguous ? of(tensor_at(0)) : of(tensor_at(1));
      case ResultLayout::All:
        return of_list();
    }
    return kContiguous;
  }

  static std::string_view of(const TensorValue* tensor) {
    return tensor == nullptr ? kContiguous : suggested_format(tensor->spec);
  }

  std::string_view of_list() {
    auto elements = args_.positional.empty() ? nullptr : elements_of(tracer_, args_.positional[0]);
    if (!elements || elements->empty()) return kContiguous;
    std::string_view first = of(as<TensorValue>((*elements)[0]));
    for (const ValuePtr& element : *elements)
      if (of(as<TensorValue>(element)) != first) return kContiguous;
    return first;
  }

  ValuePtr cloned(const ValuePtr& value, std::string_view format) {
    static PyObject* const kMemoryFormat = PyUnicode_InternFromString("memory_format");
    static const OpRow* const clone = find_op("clone");
    ValuePtr object = tracer_.values().constant(memory_format_object(format));
    return call_op(tracer_, *clone, {{value}, {{Ref::share(kMemoryFormat), object}}}, CallForm::Method);
  }

  ValuePtr preserved(const TensorValue* tensor, const ValuePtr& value) {
    static const OpRow *const empty_like = find_op("empty_like"), *const copy = find_op("copy"),
                              *const cast = find_op("cast");
    const TensorValue* first = tensor_at(0);
    if (first == nullptr || !same(first->spec.sizes, tensor->spec.sizes)) return value;
    ValuePtr empty = call_op(tracer_, *empty_like, {{args_.positional[0]}, {}}, CallForm::Function);
    if (lies_as(tensor->spec, as<TensorValue>(empty)->spec.strides)) return value;
    ValuePtr dtype = tracer_.values().constant(tensor->family->dtype_object(tensor->spec.dtype));
    ValuePtr place = call_op(tracer_, *cast, {{empty, dtype}, {}}, CallForm::Method);
    return call_in_place(tracer_, *copy, {{place, value}, {}});
  }

  Tracer& tracer_;
  const TensorCallable& callable_;
  const CallArgs& args_;
};

}  // namespace

ValuePtr laid_out(Tracer& tracer, const TensorCallable& callable, const CallArgs& args, const ValuePtr& result) {
  if (callable.layout == ResultLayout::Computed) return result;
  Layout layout(tracer, callable, args);
  auto* sequence = as<SequenceValue>(result);
  if (sequence == nullptr) return layout.apply(result);
  for (ValuePtr& item : sequence->items) item = layout.apply(item);
  return result;
}

}  // namespace md
