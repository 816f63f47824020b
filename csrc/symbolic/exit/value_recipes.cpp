// Recipes for each kind of value at an exit: one recipe per value, so that object identity is preserved.
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/exit/region_finisher.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/unbacked_sizes.h"

#include "cpython/imports.h"
#include "cpython/set_table.h"
#include "guards/constants.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/copied_names.h"
#include "symbolic/values/key_proxy.h"

#include <algorithm>

namespace md {

RecipeId RegionFinisher::constant_recipe(BorrowedRef object) {
  Recipe recipe;
  recipe.kind = RecipeKind::Constant;
  recipe.object = Ref::share(object);
  snapshot_.recipes.push_back(std::move(recipe));
  return static_cast<RecipeId>(snapshot_.recipes.size() - 1);
}

RecipeId RegionFinisher::null_recipe() { return recipe_of(frames_.null()); }

RecipeId RegionFinisher::recipe_of(const ValuePtr& value) {
  if (!value) return null_recipe();
  if (auto* iterator = as<IteratorValue>(value); iterator != nullptr && iterator->iterator_kind == IteratorKind::User)
    return recipe_of(iterator->bases[0]);
  auto found = recipes_.find(value.get());
  if (found != recipes_.end()) return found->second;
  RecipeId id = static_cast<RecipeId>(snapshot_.recipes.size());
  snapshot_.recipes.emplace_back();
  recipes_[value.get()] = id;
  keep_alive_.push_back(value);
  Recipe recipe;
  describe_value(value, recipe);
  snapshot_.recipes[id] = std::move(recipe);
  RecipeKind kind = snapshot_.recipes[id].kind;
  if (kind == RecipeKind::Computed || kind == RecipeKind::Size) snapshot_.computed.push_back(id);
  return id;
}

void RegionFinisher::add_parts(Recipe& recipe, const std::vector<ValuePtr>& values) {
  for (const ValuePtr& value : values) recipe.parts.push_back(recipe_of(value));
}

void RegionFinisher::pass_through(const Source* source, Recipe& recipe) {
  recipe.kind = RecipeKind::Source;
  recipe.source = source;
  // Arguments are always set; anything else may be missing in another run unless it was read.
  bool is_argument = source->kind() == SourceKind::Local && entry_.start().index == 0;
  if (!is_argument && source->kind() != SourceKind::Function) tracer_.guards().present(source);
}

namespace {

ViewTraits view_traits(const TensorValue& tensor) {
  using Detached = ViewTraits::Detached;
  ViewTraits traits;
  traits.read_only = tensor.has_view(kReadOnly);
  traits.one_of_several = tensor.several_step != 0;
  if (!tensor.has_view(kCutsGradient)) return traits;
  traits.detached = tensor.views.back().row->has(kCutsGradient) ? Detached::Last : Detached::First;
  traits.uncounted = tensor.has_view(kUncounted);
  return traits;
}

}  // namespace

// Whether the region has gone back through the history of an output. What it has left of one in part is not described.
bool RegionFinisher::is_freed(ValueRef output) {
  const GradientRuns& runs = tracer_.builder().gradient_runs();
  if (int64_t step = runs.lone_leaf_step(output))
    end_before(step, BreakReason::tensor_method, "a result that goes back to a leaf of the region alone");
  if (int64_t step = runs.unrecorded_step(output))
    end_before(step, BreakReason::tensor_write, "a write without a history into a result that has one");
  GradientRuns::History history = runs.any() ? runs.history_of(output) : GradientRuns::History::Live;
  if (history == GradientRuns::History::Freed) return true;
  if (history == GradientRuns::History::Mixed)
    end_before(runs.first_step(), BreakReason::backward, "a result whose history is freed in part is kept");
  if (int64_t step = runs.hidden_write_step(output))
    end_before(step, BreakReason::tensor_write, "a write that a later backward would read");
  return false;
}

void RegionFinisher::describe(TensorValue* tensor, Recipe& recipe) {
  if (tensor->source != nullptr) return pass_through(tensor->source, recipe);
  if (tensor->converted_step != 0) return describe_converted(*tensor, recipe);
  if (const GradientRuns::NewLeaf* leaf = tracer_.builder().gradient_runs().new_leaf_of(*tensor))
    end_before(leaf->step, BreakReason::tensor_method, "a leaf that the region makes is kept");
  // Of an argument the library makes it.
  if (tracer_.builder().is_leaf_apart(*tensor) && tensor->base->source == nullptr)
    end_before(tensor->view_step, BreakReason::needs_gradient, "a view that was made without a history is kept");
  recipe.kind = RecipeKind::Output;
  recipe.family = tensor->family;
  recipe.view = view_traits(*tensor);
  recipe.index = static_cast<int32_t>(outputs_.size());
  if (const int* counter = own_counter(*tensor); counter != nullptr)
    recipe.writes = *counter;
  else if (tensor->base != nullptr && tensor->base->source == nullptr)
    recipe.writes = tensor->base->version - tensor->base->uncounted;
  outputs_.push_back(tracer_.builder().output_value(tensor));
  recipe.is_freed = tensor->spec.requires_grad && is_freed(outputs_.back());
  if (recipe.is_freed && tensor->family->gradients->with_freed_history != nullptr)
    add_parts(recipe, tracer_.builder().gradient_runs().leaves());
}

// The function of the library makes it at the exit too. Views of it, and writes that are counted, follow there.
void RegionFinisher::describe_converted(const TensorValue& tensor, Recipe& recipe) {
  bool misses_writes = tensor.base->version > 0 && tensor.family->written != nullptr;
  if (!tensor.converter || misses_writes)
    end_before(tensor.converted_step, BreakReason::tensor_export, "a view in another library is kept");
  recipe.kind = RecipeKind::Call;
  recipe.object = check(PyTuple_New(0));
  add_parts(recipe, {tensor.converter, tensor.converted_from});
}

void RegionFinisher::describe_size(Dim dim, Recipe& recipe) {
  if (shapes_.is_unbacked(dim)) {
    recipe.kind = RecipeKind::Number;
    recipe.index = static_cast<int32_t>(outputs_.size());
    outputs_.push_back(unbacked_number(tracer_.builder(), dim));
    return;
  }
  SymbolList symbols;
  symbols.add(dim);
  recipe.kind = RecipeKind::Size;
  recipe.index = static_cast<int32_t>(snapshot_.sizes.size());
  snapshot_.sizes.push_back({DimCode(dim, symbols), shapes_.places_of(symbols)});
}

void RegionFinisher::describe(FunctionValue* function, Recipe& recipe) {
  recipe.kind = RecipeKind::Function;
  recipe.parts.push_back(constant_recipe(function->code.get()));
  ValuePtr globals = function->globals_from ? function->globals_from : frames_.root().function;
  while (auto* maker = as<FunctionValue>(globals))
    globals = maker->globals_from ? maker->globals_from : frames_.root().function;
  recipe.parts.push_back(recipe_of(globals));
  for (const ValuePtr& part : {function->defaults, function->kw_defaults, function->annotations})
    recipe.parts.push_back(recipe_of(part));
  add_parts(recipe, function->closure);
  recipe.index = static_cast<int32_t>(function->names.size() + (function->dict ? function->dict->entries.size() : 0));
  recipe.object = check(PyLong_FromSize_t(function->names.size()));
  for (const auto& [key, attribute] : function->names) {
    recipe.parts.push_back(constant_recipe(key.get()));
    recipe.parts.push_back(recipe_of(attribute));
  }
  if (!function->dict) return;
  for (const DictValue::Entry& entry : function->dict->entries) {
    recipe.parts.push_back(key_recipe(entry.key.get()));
    recipe.parts.push_back(recipe_of(entry.value));
  }
}

// Storing the key would call its __hash__ again.
void RegionFinisher::end_before_user_key(BorrowedRef key) {
  if (is_key_proxy(key)) end_before(user_key_step(tracer_, key), BreakReason::unhashable_key, "a key that is kept");
}

RecipeId RegionFinisher::key_recipe(BorrowedRef key) {
  end_before_user_key(key);
  // Also of a Size, which its key, a tuple, equals.
  ValuePtr known = tracer_.keys().find(key);
  return known ? recipe_of(known) : constant_recipe(key);
}

void RegionFinisher::describe_class(const TracedClass& made, Recipe& recipe) {
  recipe.kind = RecipeKind::Class;
  recipe.index = static_cast<int32_t>(made.first_names->entries.size());
  add_parts(recipe, {made.name, made.qualname, made.bases, made.meta, made.names_cell});
  for (const DictValue::Entry& entry : made.first_names->entries) {
    recipe.parts.push_back(constant_recipe(entry.key.get()));
    recipe.parts.push_back(recipe_of(entry.value));
  }
  for (const auto& [name, value] : made.stores) {
    recipe.parts.push_back(constant_recipe(name));
    recipe.parts.push_back(recipe_of(value));
  }
}

// With its table: it decides the order, and how the set grows.
void RegionFinisher::describe(SetValue* set, Recipe& recipe) {
  recipe.kind = RecipeKind::Set;
  recipe.index = set->is_frozen() ? 1 : 0;
  recipe.object = check(pv_set_layout(set->set));
  Ref items = check(PySequence_Tuple(set->set));
  Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  bool varies = false;  // from run to run
  for (Py_ssize_t i = 0; i < count; ++i) {
    end_before_user_key(PyTuple_GET_ITEM(items.get(), i));
    varies = varies || tracer_.keys().has_place_of_its_own(PyTuple_GET_ITEM(items.get(), i));
  }
  if (varies && count > 1)
    end_before(set->creation_step, BreakReason::unknown_container, "a set in an order of its own");
  for (Py_ssize_t i = 0; i < count; ++i) recipe.parts.push_back(key_recipe(PyTuple_GET_ITEM(items.get(), i)));
}

// The interpreter raises an exception that is visible outside.
void RegionFinisher::end_before_raise(const ValuePtr& exception) {
  end_before(exception_of(exception)->exception->raised_step, BreakReason::object_creation,
             "an exception that was raised is kept");
}

namespace {

bool shows_the_same(const ShownNames& a, const ShownNames& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.first.get() == other.first.get() && one.second == other.second;
  });
}

}  // namespace

// The attributes that the function showed when it was wrapped, if they differ now.
void RegionFinisher::add_copied(Recipe& recipe, const ConstructedValue& made, PyTypeObject* type) {
  if (made.copied.empty()) return;
  ShownNames now = names_to_copy(tracer_, type, made.positional[0]);
  for (size_t i = 0; i < now.size(); ++i) {
    const auto& [name, value] = made.copied[i];
    if (value.get() == now[i].second.get()) continue;
    Ref by_code = value ? Ref() : name_by_code(*as<FunctionValue>(made.positional[0]), name.get());
    if (!value && !by_code) end_before(made.creation_step, BreakReason::object_creation, "a wrapper of a function");
    recipe.parts.push_back(constant_recipe(name.get()));
    recipe.parts.push_back(value ? recipe_of(value) : constant_recipe(by_code.get()));
    ++recipe.index;
  }
}

void RegionFinisher::add_attributes(Recipe& recipe, const OwnAttributes& attributes) {
  for (const auto& [key, attribute] : attributes) {
    recipe.parts.push_back(constant_recipe(key.get()));
    recipe.parts.push_back(recipe_of(attribute));
  }
}

namespace {

// A group copies its list when it is made: at an exit the list may hold other exceptions.
bool holds_its_list(InstanceValue& group) {
  static PyObject* const kExceptions = PyUnicode_InternFromString("exceptions");
  auto* list = as<SequenceValue>(group.exception->args[1]);
  ValuePtr* held = group.find(kExceptions);
  return list == nullptr || held == nullptr || list->items == as<SequenceValue>(*held)->items;
}

}  // namespace

void RegionFinisher::describe_exception(const ValuePtr& value, Recipe& recipe) {
  auto* instance = as<InstanceValue>(value);
  const ExceptionState& state = *instance->exception;
  if (state.raised_step != 0) end_before_raise(value);
  add_parts(recipe, {instance->type});
  static PyObject* const kNotes = PyUnicode_InternFromString("__notes__");
  bool has_state = state.context || state.cause || state.suppresses_context || instance->find(kNotes) != nullptr;
  if (is_group_class(type_of(value)) || (!has_state && !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE))) {
    // The parts split from a group are created by the interpreter.
    if (is_group_class(type_of(value)) && (has_state || !holds_its_list(*instance)))
      end_before(state.made_step, BreakReason::object_creation, "a group");
    recipe.kind = RecipeKind::Exception;
    return add_parts(recipe, state.args);
  }
  recipe.kind = RecipeKind::Instance;
  recipe.parts.push_back(constant_recipe(check(PyUnicode_InternFromString("args"))));
  recipe.parts.push_back(recipe_of(make_value<SequenceValue>(false, state.args)));
  add_attributes(recipe, instance->attributes);
  auto add_state = [&](const char* name, const ValuePtr& part) {
    recipe.parts.push_back(constant_recipe(check(PyUnicode_InternFromString(name))));
    recipe.parts.push_back(recipe_of(part));
  };
  if (state.context) add_state("__context__", state.context);
  if (state.cause) add_state("__cause__", state.cause);
  if (state.suppresses_context) add_state("__suppress_context__", tracer_.values().boolean(true));
}

void RegionFinisher::describe(NullValue*, Recipe& recipe) { recipe.kind = RecipeKind::Null; }

void RegionFinisher::describe(ObjectValue* known, Recipe& recipe) {
  if (known->source != nullptr) return pass_through(known->source, recipe);
  if (known->traced_class) return describe_class(*tracer_.classes().find(known->object), recipe);
  recipe.kind = RecipeKind::Constant;
  recipe.object = known->object;
}

void RegionFinisher::describe(SequenceValue* sequence, Recipe& recipe) {
  recipe.kind = sequence->is_list ? RecipeKind::List : RecipeKind::Tuple;
  if (sequence->type) {
    recipe.kind = sequence->is_list ? RecipeKind::TypedList : RecipeKind::TypedTuple;
    recipe.parts.push_back(recipe_of(sequence->type));
    if (sequence->is_list) recipe.parts.push_back(recipe_of(sequence->maxlen));
    recipe.index = static_cast<int32_t>(sequence->attributes.size());
    add_attributes(recipe, sequence->attributes);
  }
  add_parts(recipe, sequence->items);
}

void RegionFinisher::describe(DictValue* dict, Recipe& recipe) {
  recipe.kind = RecipeKind::Dict;
  if (dict->owner != nullptr) {
    recipe.kind = RecipeKind::FunctionDict;
    return add_parts(recipe, {ValuePtr(dict->owner)});
  }
  if (dict->type) {
    recipe.kind = RecipeKind::TypedDict;
    recipe.index = static_cast<int32_t>(dict->attributes.size());
    add_parts(recipe, {dict->type, dict->factory});
    add_attributes(recipe, dict->attributes);
  }
  for (const DictValue::Entry& entry : dict->entries) {
    recipe.parts.push_back(key_recipe(entry.key.get()));
    recipe.parts.push_back(recipe_of(entry.value));
  }
}

void RegionFinisher::describe(SliceValue* slice, Recipe& recipe) {
  recipe.kind = RecipeKind::Slice;
  add_parts(recipe, {slice->start, slice->stop, slice->step});
}

void RegionFinisher::describe(CellValue* cell, Recipe& recipe) {
  recipe.kind = cell->source != nullptr ? RecipeKind::Source : RecipeKind::Cell;
  recipe.index = cell->holds_names ? 1 : 0;
  recipe.source = cell->source;
  if (cell->source == nullptr && cell->contents) add_parts(recipe, {cell->contents});
}

void RegionFinisher::describe(BoundMethodValue* method, Recipe& recipe) {
  recipe.kind = RecipeKind::BoundMethod;
  add_parts(recipe, {method->function, method->self});
}

void RegionFinisher::describe(PolicyFunctionValue* wrapper, Recipe& recipe) {
  if (!shows_the_same(names_to_update(tracer_, wrapper->function), wrapper->copied))
    end_before(wrapper->creation_step, BreakReason::object_creation, "a wrapper of a function");
  recipe.kind = RecipeKind::PolicyFunction;
  recipe.index = static_cast<int32_t>(wrapper->change);
  add_parts(recipe, {wrapper->function, wrapper->reason});
}

void RegionFinisher::describe(InstanceValue* instance, Recipe& recipe) {
  if (instance->exception) return describe_exception(ValuePtr(instance), recipe);
  if (instance->opaque_since != 0)
    end_before(instance->opaque_since, BreakReason::object_creation, "an object of a subclass of property");
  recipe.kind = RecipeKind::Instance;
  add_parts(recipe, {instance->type});
  add_attributes(recipe, instance->attributes);
}

void RegionFinisher::describe(RaisedPartValue* part, Recipe&) { end_before_raise(part->exception); }

void RegionFinisher::describe(SuperValue* super, Recipe& recipe) {
  recipe.kind = RecipeKind::Super;
  add_parts(recipe, {super->type, super->self});
}

void RegionFinisher::describe(ConstructedValue* made, Recipe& recipe) {
  // Only ContextVar.set() makes one.
  if (type_of(ValuePtr(made)) == &PyContextToken_Type)
    end_before(made->creation_step, BreakReason::object_creation, "a token of a context variable");
  // Its object may die with the function.
  if (type_of(ValuePtr(made)) == &_PyWeakref_RefType && !made->model && exit_ == ExitKind::Return)
    end_before(made->creation_step, BreakReason::object_creation, "a weak reference");
  if (made->iterated_step != 0)
    end_before(made->iterated_step, BreakReason::unknown_iteration, "what has been iterated over is kept");
  recipe.kind = RecipeKind::Call;
  recipe.parts.push_back(recipe_of(made->maker ? made->maker : made->type));
  add_parts(recipe, made->positional);
  recipe.object = check(PyTuple_New(static_cast<Py_ssize_t>(made->keywords.size())));
  for (size_t i = 0; i < made->keywords.size(); ++i) {
    PyTuple_SET_ITEM(recipe.object.get(), i, Py_NewRef(made->keywords[i].first.get()));
    recipe.parts.push_back(recipe_of(made->keywords[i].second));
  }
  add_copied(recipe, *made, type_of(ValuePtr(made)));
}

void RegionFinisher::describe(NumberValue* number, Recipe& recipe) {
  recipe.kind = RecipeKind::Number;
  recipe.index = static_cast<int32_t>(outputs_.size());
  outputs_.push_back(number->ref);
}

void RegionFinisher::describe(ComputedValue* computed, Recipe& recipe) {
  if (computed->known) {
    recipe.kind = RecipeKind::Constant;
    recipe.object = computed->current;
    return;
  }
  if (computed->dim && computed->parts.empty()) return describe_size(*computed->dim, recipe);
  recipe.kind = RecipeKind::Computed;
  recipe.index = static_cast<int32_t>(computed->scalar_op);
  if (raises(computed->scalar_op) == Raises::ByType)
    recipe.object = Ref::share(reinterpret_cast<PyObject*>(computed->current.type()));
  add_parts(recipe, computed->parts);
}

void RegionFinisher::describe(DictViewValue* view, Recipe& recipe) {
  recipe.kind = RecipeKind::DictView;
  recipe.index = view->what;
  add_parts(recipe, {view->dict});
}

void RegionFinisher::describe(IdentityValue* identity, Recipe& recipe) {
  static PyObject* const function = imported("builtins", "id").release();
  recipe.kind = RecipeKind::Call;
  recipe.parts = {constant_recipe(function)};
  recipe.object = check(PyTuple_New(0));
  add_parts(recipe, {identity->of});
}

void RegionFinisher::describe(InstanceDictValue* dict, Recipe& recipe) {
  recipe.kind = RecipeKind::InstanceDict;
  add_parts(recipe, {dict->owner});
}

void RegionFinisher::describe_value(const ValuePtr& value, Recipe& recipe) {
  visit_kind(*value, [&](auto& own) { describe(&own, recipe); });
}

}  // namespace md
