// Recipes of iterators: a new iterator over the same object, at the same position.
#include "symbolic/breaks/break_reason.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/exit/region_finisher.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/endings.h"

namespace md {

namespace {

// An empty object of which an iterator of the same type is exhausted.
Ref nothing_like(const IteratorValue& iterator) {
  const ValuePtr& base = iterator.bases[0];
  if (iterator.iterator_kind == IteratorKind::Set) return check(PySet_New(nullptr));
  if (iterator.iterator_kind == IteratorKind::Dict) {
    auto* view = as<DictViewValue>(base);
    PyTypeObject* type = type_of(view != nullptr ? view->dict : base);
    Ref dict =
        check(PyType_IsSubtype(type, &PyODict_Type) ? PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyODict_Type))
                                                    : PyDict_New());
    static constexpr const char* kViews[] = {"keys", "values", "items"};
    return check(PyObject_CallMethod(dict, kViews[view != nullptr ? view->what : 0], nullptr));
  }
  // One without elements, which libraries whose tensors are iterated over by index make so.
  if (base->kind == ValueKind::Tensor)
    return check(PyObject_CallFunction(reinterpret_cast<PyObject*>(type_of(base)), "i", 0));
  auto* object = as<ObjectValue>(base);
  // Strings of different kinds have different iterator types.
  if (object != nullptr && (PyUnicode_CheckExact(object->object.get()) || PyBytes_CheckExact(object->object.get())))
    return object->object;
  PyTypeObject* type = type_of(base);
  bool is_list = type != nullptr && PyType_IsSubtype(type, &PyList_Type) != 0;
  return check(is_list ? PyList_New(0) : PyTuple_New(0));
}

}  // namespace

// An iterator is rebuilt over the object's state at the region's start: the region must end before the first write.
void RegionFinisher::check_iterated(const IteratorValue& iterator) {
  for (const ValuePtr& base : iterator.bases) {
    auto* view = as<DictViewValue>(base);
    const ValuePtr& held = view != nullptr ? view->dict : base;
    auto* attributes = as<InstanceDictValue>(held);
    if (attributes != nullptr && !iterator.exhausted) end_before_iteration(tracer_, iterator);
    // A started iterator would not find its position again, and one that has seen a change would not notice it again.
    auto* deque = is_deque(held) ? as<SequenceValue>(held) : nullptr;
    bool has_changed = deque != nullptr && deque->changes != iterator.start;
    if (is_deque(held) && (iterator.exhausted || iterator.index > 0 || has_changed))
      end_before_iteration(tracer_, iterator);
    auto* object = as<ObjectValue>(held);
    if (object != nullptr && object->writes && !iterator.exhausted)
      throw RestartSignal{object->writes->first_step,
                          {BreakReason::store_subscript, "while it is iterated over", "", {}, ""},
                          frames_.innermost().policy};
  }
}

void RegionFinisher::describe_range(const IteratorValue& iterator, Recipe& recipe) {
  recipe.kind = RecipeKind::RangeIterator;
  recipe.index = 0;
  Ref range = check(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "LLL",
                                          static_cast<long long>(iterator.start),
                                          static_cast<long long>(iterator.exhausted ? iterator.start : iterator.stop),
                                          static_cast<long long>(iterator.step)));
  recipe.parts.push_back(constant_recipe(range));
}

// A dict that has changed since the iterator was made raises at the next step: the region must end before the iterator.
void RegionFinisher::check_entries(const IteratorValue& iterator) {
  auto* view = as<DictViewValue>(iterator.bases[0]);
  auto* dict = as<DictValue>(view != nullptr ? view->dict : iterator.bases[0]);
  bool is_changed = dict != nullptr &&
                    (static_cast<int64_t>(dict->entries.size()) != iterator.stop || dict->erased != iterator.start);
  if (is_changed && !iterator.exhausted) end_before_iteration(tracer_, iterator);
}

// An exhausted iterator stays exhausted, whatever happens to the object it iterated over.
void RegionFinisher::describe_exhausted(const IteratorValue& iterator, Recipe& recipe) {
  if (iterator.iterator_kind != IteratorKind::Reversed) recipe.kind = RecipeKind::SequenceIterator;
  recipe.index = -1;
  recipe.parts.push_back(constant_recipe(nothing_like(iterator)));
}

// The call that creates it runs nothing of its body.
void RegionFinisher::describe_generator(const IteratorValue& generator, Recipe& recipe) {
  auto* function = as<ObjectValue>(generator.bases[0]);
  bool is_fresh = generator.type == &PyGen_Type && !generator.exhausted && !generator.running &&
                  generator.frame->next == 0 && (function == nullptr || !function->writes);
  if (!is_fresh) end_before(generator);
  recipe.kind = RecipeKind::Call;
  recipe.object = Ref::share(generator.keywords.get());
  recipe.index = 0;
  add_parts(recipe, generator.bases);
}

void RegionFinisher::describe(IteratorValue* iterator, Recipe& recipe) {
  if (iterator->iterator_kind == IteratorKind::Generator) return describe_generator(*iterator, recipe);
  check_iterated(*iterator);
  recipe.index = static_cast<int32_t>(iterator->index);
  // A position past the end of a shortened list cannot be set.
  auto end_behind = [&](int64_t place, int64_t length_where_unknown) {
    if (!iterator->exhausted && place > length_of(tracer_, iterator->bases[0]).value_or(length_where_unknown))
      end_before_iteration(tracer_, *iterator);
  };
  switch (iterator->iterator_kind) {
    case IteratorKind::Range:
      return describe_range(*iterator, recipe);
    case IteratorKind::Enumerate:
      recipe.kind = RecipeKind::Enumerate;
      recipe.index = 0;
      add_parts(recipe, iterator->bases);
      recipe.parts.push_back(constant_recipe(check(PyLong_FromLongLong(iterator->index))));
      return;
    case IteratorKind::Zip:
      recipe.kind = RecipeKind::Zip;
      recipe.index = iterator->strict ? 1 : 0;
      add_parts(recipe, iterator->bases);
      return;
    case IteratorKind::Map:
    case IteratorKind::Filter:
      recipe.kind = iterator->iterator_kind == IteratorKind::Map ? RecipeKind::Map : RecipeKind::Filter;
      recipe.index = 0;
      add_parts(recipe, iterator->bases);
      return;
    case IteratorKind::Generator:
      break;
    case IteratorKind::Sequence:
      recipe.kind = RecipeKind::SequenceIterator;
      end_behind(iterator->index, iterator->index);
      break;
    case IteratorKind::Reversed:
      recipe.kind = RecipeKind::ReversedIterator;
      end_behind(iterator->start - iterator->index + 1, 0);
      recipe.index = static_cast<int32_t>(iterator->start - iterator->index + 1);
      break;
    case IteratorKind::Dict:
      if (iterator->step < 0) end_before_iteration(tracer_, *iterator);
      recipe.kind = RecipeKind::DictIterator;
      check_entries(*iterator);
      break;
    case IteratorKind::Set:
      recipe.kind = RecipeKind::DictIterator;
      if (iterator->exhausted) break;
      if (as<SetValue>(iterator->bases[0]) &&
          PySet_GET_SIZE(as<SetValue>(iterator->bases[0])->set.get()) != iterator->stop)
        end_before_iteration(tracer_, *iterator);
      return add_parts(recipe, {iterator->bases[0]});
    case IteratorKind::User:
      break;
  }
  if (iterator->exhausted) return describe_exhausted(*iterator, recipe);
  add_parts(recipe, iterator->bases);
}

}  // namespace md
