// Recipes of what the region computed or found: outputs of the graph, numbers, sizes, constants.
#include "autograd/freed_node.h"
#include "frontends/arg_binding.h"
#include "guards/object_memory.h"
#include "guards/tensor_family.h"
#include "snapshot/recipe_rows.h"
#include "tensor/fill.h"

namespace md {
namespace {

Ref size_number(const SizeNumber& size, const LocalsView& view) {
  std::vector<int64_t> values;
  for (const SizePlace& place : size.places) {
    Ref object = fetch(place.source, view);
    std::optional<int64_t> value = object ? read_size(place, object.get()) : std::nullopt;
    MD_ASSERT(value, "a size that an exit needs is gone");
    values.push_back(*value);
  }
  std::optional<int64_t> number = size.code.evaluate(values);
  if (!number) {
    PyErr_SetString(PyExc_OverflowError, "a size that does not fit");
    throw PythonError();
  }
  return check(PyLong_FromLongLong(*number));
}

}  // namespace

namespace recipe_columns {

Ref make_Null(ValueBuilder&, const Recipe&, RecipeId) { return nullptr; }

Ref make_Constant(ValueBuilder&, const Recipe& recipe, RecipeId) { return recipe.object; }

Ref make_Source(ValueBuilder&, const Recipe&, RecipeId) {
  raise(ErrorKind::Internal, "a source is fetched before anything is built");
}

Ref make_Output(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  const TensorFamily& family = *recipe.family;
  auto* freed = recipe.is_freed ? family.gradients->with_freed_history : nullptr;
  if (recipe.is_freed && freed == nullptr)
    builder.output(recipe.index) = with_freed_history(builder.output(recipe.index));
  Ref object = object_of_result(family, std::move(builder.output(recipe.index)), recipe.view);
  // Views of one memory share its counter.
  count_writes(family, object, recipe.writes);
  return freed != nullptr ? freed(object, builder.build_parts(recipe)) : std::move(object);
}

Ref make_Number(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  const Tensor& tensor = builder.output(recipe.index);
  return arg_to_python(load_scalar(tensor->dtype(), tensor->data()));
}

Ref make_Computed(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  std::vector<PyObject*> operands(parts.begin(), parts.end());
  Ref result = compute(static_cast<ScalarOp>(recipe.index), operands);
  if (!result) throw PythonError();
  // The region was captured for results of one type.
  if (recipe.object && reinterpret_cast<PyObject*>(result.type()) != recipe.object.get()) {
    PyErr_SetString(PyExc_TypeError, "a number of another type than at capture");
    throw PythonError();
  }
  return result;
}

Ref make_Size(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  return size_number(builder.snapshot().sizes[static_cast<size_t>(recipe.index)], builder.view());
}

}  // namespace recipe_columns
}  // namespace md
