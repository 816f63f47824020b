#include "symbolic/region_finisher.h"

#include "base/config.h"
#include "cpython/imports.h"
#include "graph/passes.h"
#include "graph/symbols.h"
#include "guards/constants.h"
#include "symbolic/exceptions.h"
#include "symbolic/key_stand_in.h"
#include "symbolic/output_queue.h"

#include <algorithm>
#include <unordered_set>

namespace md {

RecipeId RegionFinisher::constant_recipe(BorrowedRef object) {
  Recipe recipe;
  recipe.kind = RecipeKind::Constant;
  recipe.object = Ref::share(object);
  snapshot_.recipes.push_back(std::move(recipe));
  return static_cast<RecipeId>(snapshot_.recipes.size() - 1);
}

RecipeId RegionFinisher::null_recipe() { return recipe_of(walk_.null()); }

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

void RegionFinisher::hand_on(const Source* source, Recipe& recipe) {
  recipe.kind = RecipeKind::Source;
  recipe.source = source;
  // Arguments are always there; whatever else was not looked at may be gone at another run.
  bool is_argument = source->kind() == SourceKind::Local && walk_.start_.index == 0;
  if (!is_argument && source->kind() != SourceKind::Function) walk_.guards_.present(source);
}

void RegionFinisher::describe_tensor(TensorValue* tensor, Recipe& recipe) {
  if (tensor->source != nullptr) return hand_on(tensor->source, recipe);
  recipe.kind = RecipeKind::Output;
  recipe.index = static_cast<int32_t>(outputs_.size());
  outputs_.push_back(walk_.output_value(tensor));
}

void RegionFinisher::describe_size(Dim dim, Recipe& recipe) {
  if (walk_.is_told(dim)) {
    recipe.kind = RecipeKind::Number;
    recipe.index = static_cast<int32_t>(outputs_.size());
    outputs_.push_back(walk_.told_number(dim));
    return;
  }
  SymbolList symbols;
  symbols.add(dim);
  recipe.kind = RecipeKind::Size;
  recipe.index = static_cast<int32_t>(snapshot_.sizes.size());
  snapshot_.sizes.push_back({DimCode(dim, symbols), walk_.sizes_.places_of(symbols)});
}

// Symbols that no tensor among the graph's inputs tells become inputs of their own. Where every symbol had to be one number, the
// graph is about numbers.
void RegionFinisher::settle_symbols(CapturedRegion& region) {
  SymbolList symbols = symbols_of(*walk_.graph_);
  if (symbols.symbols().empty()) return;
  std::vector<int64_t> numbers;
  for (Dim symbol : symbols.symbols())
    if (std::optional<int64_t> number = walk_.sizes_.fixed(symbol)) numbers.push_back(*number);
  if (numbers.size() == symbols.symbols().size()) {
    try {
      walk_.graph_ = with_numbers(*walk_.graph_, symbols, numbers);
      return;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
    }
  }
  std::vector<SymbolPlace> places = symbol_places(*walk_.graph_, symbols);
  for (size_t i = 0; i < places.size(); ++i) {
    Dim symbol = symbols.symbols()[i];
    if (places[i].input >= 0 || walk_.is_told(symbol)) continue;
    walk_.graph_->add_scalar_input(symbol.str(), Scalar::Kind::Int)->size = symbol;
    ValuePtr number = walk_.size_value(symbol);
    region.inputs.push_back({nullptr, recipe_of(number)});
  }
}

void RegionFinisher::describe_function(FunctionValue* function, Recipe& recipe) {
  recipe.kind = RecipeKind::Function;
  recipe.parts.push_back(constant_recipe(function->code.get()));
  ValuePtr globals = function->globals_from ? function->globals_from : walk_.root().function;
  while (auto* maker = as<FunctionValue>(globals))
    globals = maker->globals_from ? maker->globals_from : walk_.root().function;
  recipe.parts.push_back(recipe_of(globals));
  for (const ValuePtr& part : {function->defaults, function->kw_defaults, function->annotations})
    recipe.parts.push_back(recipe_of(part));
  add_parts(recipe, function->closure);
  recipe.index = static_cast<int32_t>(function->names.size() + (function->dict ? function->dict->entries.size() : 0));
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

// Storing it would ask for its hash once more.
void RegionFinisher::end_before_own_key(BorrowedRef key) {
  if (is_key_stand_in(key)) end_before(walk_.own_key_step(key), BreakReason::unhashable_key, "a key that is kept");
}

RecipeId RegionFinisher::key_recipe(BorrowedRef key) {
  end_before_own_key(key);
  return is_guardable_constant(key) ? constant_recipe(key) : recipe_of(walk_.value_of_key(key));
}

void RegionFinisher::describe_class(const MadeClass& made, Recipe& recipe) {
  recipe.kind = RecipeKind::Class;
  recipe.index = static_cast<int32_t>(made.first_names);
  add_parts(recipe, {made.name, made.qualname, made.bases, made.meta});
  for (const DictValue::Entry& entry : made.names->entries) {
    recipe.parts.push_back(constant_recipe(entry.key.get()));
    recipe.parts.push_back(recipe_of(entry.value));
  }
}

namespace {

// Whether adding the items of the tuple to an empty set, from `first` on and then those before it, gives a set in their order.
bool gives_order(BorrowedRef items, Py_ssize_t first) {
  Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  Ref made = check(PySet_New(nullptr));
  for (Py_ssize_t i = 0; i < count; ++i)
    check_status(PySet_Add(made, PyTuple_GET_ITEM(items.get(), (first + i) % count)));
  Ref order = check(PySequence_Tuple(made));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GET_ITEM(items.get(), i) != PyTuple_GET_ITEM(order.get(), i)) return false;
  return true;
}

}  // namespace

// The elements in an order in which a new set of them has the order that this one has. One that was pushed past the end of the
// table stands first and comes last.
void RegionFinisher::describe_set(SetValue* set, Recipe& recipe) {
  recipe.kind = RecipeKind::Set;
  Ref items = check(PySequence_Tuple(set->set));
  Py_ssize_t count = PyTuple_GET_SIZE(items.get()), first = 0;
  for (Py_ssize_t i = 0; i < count; ++i) end_before_own_key(PyTuple_GET_ITEM(items.get(), i));
  Py_ssize_t tries = std::min<Py_ssize_t>(count, 16);
  while (first < tries && !gives_order(items.get(), first)) ++first;
  if (first == tries && count > 0)
    end_before(set->creation_step, BreakReason::unknown_container, "a set in an order of its own");
  for (Py_ssize_t i = 0; i < count; ++i)
    recipe.parts.push_back(key_recipe(PyTuple_GET_ITEM(items.get(), (first + i) % count)));
}

void RegionFinisher::describe_iterator(IteratorValue* iterator, Recipe& recipe) {
  // An iterator is rebuilt over what the object was: the region has to end before the first write.
  for (const ValuePtr& base : iterator->bases) {
    auto* view = as<DictViewValue>(base);
    const ValuePtr& held = view != nullptr ? view->dict : base;
    auto* attributes = as<InstanceDictValue>(held);
    if (attributes != nullptr && !iterator->exhausted) walk_.end_before_iteration(*iterator);
    // One that has begun would not find its place again.
    if (is_deque(held) && (iterator->exhausted || iterator->index > 0)) walk_.end_before_iteration(*iterator);
    auto* object = as<ObjectValue>(held);
    if (object != nullptr && object->writes && !iterator->exhausted)
      throw RestartSignal{object->writes->first_step,
                          {BreakReason::store_subscript, "while it is iterated over", "", {}, ""},
                          walk_.frame().policy};
  }
  recipe.index = static_cast<int32_t>(iterator->index);
  switch (iterator->iterator_kind) {
    case IteratorKind::Range: {
      recipe.kind = RecipeKind::RangeIterator;
      recipe.index = 0;
      Ref range = check(PyObject_CallFunction(
          reinterpret_cast<PyObject*>(&PyRange_Type), "LLL", static_cast<long long>(iterator->start),
          static_cast<long long>(iterator->exhausted ? iterator->start : iterator->stop),
          static_cast<long long>(iterator->step)));
      recipe.parts.push_back(constant_recipe(range));
      return;
    }
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
      end_before(*iterator);
    case IteratorKind::Sequence:
      recipe.kind = RecipeKind::SequenceIterator;
      break;
    case IteratorKind::Reversed:
      recipe.kind = RecipeKind::ReversedIterator;
      // A place behind the end of a list that has become shorter cannot be set.
      if (!iterator->exhausted && iterator->start - iterator->index >= walk_.length_of(iterator->bases[0]).value_or(0))
        walk_.end_before_iteration(*iterator);
      recipe.index = static_cast<int>(iterator->exhausted ? -1 : iterator->start - iterator->index);
      break;
    case IteratorKind::Dict: {
      recipe.kind = RecipeKind::DictIterator;
      auto* view = as<DictViewValue>(iterator->bases[0]);
      auto* dict = as<DictValue>(view != nullptr ? view->dict : iterator->bases[0]);
      bool is_changed = dict != nullptr && (static_cast<int64_t>(dict->entries.size()) != iterator->stop ||
                                            dict->erased != iterator->start);
      if (is_changed && !iterator->exhausted) walk_.end_before_iteration(*iterator);
      break;
    }
    case IteratorKind::Set:
      recipe.kind = RecipeKind::DictIterator;
      if (iterator->exhausted) break;
      if (as<SetValue>(iterator->bases[0]) &&
          PySet_GET_SIZE(as<SetValue>(iterator->bases[0])->set.get()) != iterator->stop)
        walk_.end_before_iteration(*iterator);
      return add_parts(recipe, {iterator->bases[0]});
    case IteratorKind::User:
      break;
  }
  if (iterator->exhausted) {
    // An iterator that has ended stays ended, whatever happens to what it went over.
    recipe.kind = RecipeKind::SequenceIterator;
    recipe.index = 0;
    recipe.parts.push_back(constant_recipe(check(PyTuple_New(0))));
    return;
  }
  add_parts(recipe, iterator->bases);
}

// Python raises an exception that is seen from outside.
void RegionFinisher::end_before_raise(const ValuePtr& exception) {
  end_before(exception_of(exception)->exception->raised_step, BreakReason::object_creation,
             "an exception that was raised is kept");
}

void RegionFinisher::add_attributes(Recipe& recipe, const InstanceValue& instance) {
  for (const auto& [key, attribute] : instance.attributes) {
    recipe.parts.push_back(constant_recipe(key.get()));
    recipe.parts.push_back(recipe_of(attribute));
  }
}

void RegionFinisher::describe_exception(const ValuePtr& value, Recipe& recipe) {
  auto* instance = as<InstanceValue>(value);
  const ExceptionState& state = *instance->exception;
  if (state.raised_step != 0) end_before_raise(value);
  add_parts(recipe, {instance->type});
  static PyObject* const kNotes = PyUnicode_InternFromString("__notes__");
  bool has_state = state.context || state.cause || state.suppresses_context || instance->find(kNotes) != nullptr;
  if (is_group_class(type_of(value)) || (!has_state && !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE))) {
    // The parts that a group was split into are Python's to make.
    if (has_state && is_group_class(type_of(value)))
      end_before(state.made_step, BreakReason::object_creation, "a group");
    recipe.kind = RecipeKind::Exception;
    return add_parts(recipe, state.args);
  }
  recipe.kind = RecipeKind::Instance;
  recipe.parts.push_back(constant_recipe(check(PyUnicode_InternFromString("args"))));
  recipe.parts.push_back(recipe_of(make_value<SequenceValue>(false, state.args)));
  add_attributes(recipe, *instance);
  auto add_state = [&](const char* name, const ValuePtr& part) {
    recipe.parts.push_back(constant_recipe(check(PyUnicode_InternFromString(name))));
    recipe.parts.push_back(recipe_of(part));
  };
  if (state.context) add_state("__context__", state.context);
  if (state.cause) add_state("__cause__", state.cause);
  if (state.suppresses_context) add_state("__suppress_context__", walk_.boolean(true));
}

void RegionFinisher::describe_value(const ValuePtr& value, Recipe& recipe) {
  switch (value->kind) {
    case ValueKind::Null:
      recipe.kind = RecipeKind::Null;
      return;
    case ValueKind::Object: {
      auto* known = as<ObjectValue>(value);
      if (known->source != nullptr) return hand_on(known->source, recipe);
      if (known->made_class) return describe_class(*walk_.made_class(known->object), recipe);
      recipe.kind = RecipeKind::Constant;
      recipe.object = known->object;
      return;
    }
    case ValueKind::Tensor:
      return describe_tensor(as<TensorValue>(value), recipe);
    case ValueKind::Sequence: {
      auto* sequence = as<SequenceValue>(value);
      recipe.kind = sequence->is_list ? RecipeKind::List : RecipeKind::Tuple;
      if (sequence->type) {
        recipe.kind = sequence->is_list ? RecipeKind::TypedList : RecipeKind::TypedTuple;
        recipe.parts.push_back(recipe_of(sequence->type));
        if (sequence->is_list) recipe.parts.push_back(recipe_of(sequence->maxlen));
      }
      return add_parts(recipe, sequence->items);
    }
    case ValueKind::Dict:
      recipe.kind = RecipeKind::Dict;
      if (Value* owner = as<DictValue>(value)->owner) {
        recipe.kind = RecipeKind::FunctionDict;
        return add_parts(recipe, {ValuePtr(owner)});
      }
      if (auto* dict = as<DictValue>(value); dict->type) {
        recipe.kind = RecipeKind::TypedDict;
        add_parts(recipe, {dict->type, dict->factory});
      }
      for (const DictValue::Entry& entry : as<DictValue>(value)->entries) {
        recipe.parts.push_back(key_recipe(entry.key.get()));
        recipe.parts.push_back(recipe_of(entry.value));
      }
      return;
    case ValueKind::Set:
      return describe_set(as<SetValue>(value), recipe);
    case ValueKind::Slice: {
      auto* slice = as<SliceValue>(value);
      recipe.kind = RecipeKind::Slice;
      return add_parts(recipe, {slice->start, slice->stop, slice->step});
    }
    case ValueKind::Cell: {
      auto* cell = as<CellValue>(value);
      recipe.kind = cell->source != nullptr ? RecipeKind::Source : RecipeKind::Cell;
      recipe.source = cell->source;
      if (cell->source == nullptr && cell->contents) add_parts(recipe, {cell->contents});
      return;
    }
    case ValueKind::Function:
      return describe_function(as<FunctionValue>(value), recipe);
    case ValueKind::BoundMethod: {
      auto* method = as<BoundMethodValue>(value);
      recipe.kind = RecipeKind::BoundMethod;
      return add_parts(recipe, {method->function, method->self});
    }
    case ValueKind::PolicyFunction: {
      auto* wrapper = as<PolicyFunctionValue>(value);
      recipe.kind = RecipeKind::PolicyFunction;
      recipe.index = static_cast<int32_t>(wrapper->change);
      return add_parts(recipe, {wrapper->function, wrapper->reason});
    }
    case ValueKind::Instance: {
      auto* instance = as<InstanceValue>(value);
      if (instance->exception) return describe_exception(value, recipe);
      recipe.kind = RecipeKind::Instance;
      add_parts(recipe, {instance->type});
      return add_attributes(recipe, *instance);
    }
    case ValueKind::RaisedPart:
      end_before_raise(as<RaisedPartValue>(value)->exception);
    case ValueKind::Iterator:
      return describe_iterator(as<IteratorValue>(value), recipe);
    case ValueKind::Made: {
      auto* made = as<MadeValue>(value);
      recipe.kind = RecipeKind::Call;
      recipe.parts.push_back(recipe_of(made->maker ? made->maker : made->type));
      add_parts(recipe, made->positional);
      recipe.object = check(PyTuple_New(static_cast<Py_ssize_t>(made->keywords.size())));
      for (size_t i = 0; i < made->keywords.size(); ++i) {
        PyTuple_SET_ITEM(recipe.object.get(), i, Py_NewRef(made->keywords[i].first.get()));
        recipe.parts.push_back(recipe_of(made->keywords[i].second));
      }
      return;
    }
    case ValueKind::Number:
      recipe.kind = RecipeKind::Number;
      recipe.index = static_cast<int32_t>(outputs_.size());
      outputs_.push_back(as<NumberValue>(value)->ref);
      return;
    case ValueKind::Computed: {
      auto* computed = as<ComputedValue>(value);
      if (computed->known) {
        recipe.kind = RecipeKind::Constant;
        recipe.object = computed->current;
        return;
      }
      if (computed->dim && computed->parts.empty()) return describe_size(*computed->dim, recipe);
      recipe.kind = RecipeKind::Computed;
      recipe.index = static_cast<int32_t>(computed->computation);
      add_parts(recipe, computed->parts);
      return;
    }
    case ValueKind::Super: {
      auto* super = as<SuperValue>(value);
      recipe.kind = RecipeKind::Super;
      return add_parts(recipe, {super->type, super->self});
    }
    case ValueKind::DictView: {
      auto* view = as<DictViewValue>(value);
      recipe.kind = RecipeKind::DictView;
      recipe.index = view->what;
      return add_parts(recipe, {view->dict});
    }
    case ValueKind::Identity: {
      static const Ref function = imported("builtins", "id");
      recipe.kind = RecipeKind::Call;
      recipe.parts = {constant_recipe(function.get())};
      recipe.object = check(PyTuple_New(0));
      return add_parts(recipe, {as<IdentityValue>(value)->of});
    }
    case ValueKind::InstanceDict:
      recipe.kind = RecipeKind::InstanceDict;
      return add_parts(recipe, {as<InstanceDictValue>(value)->owner});
  }
}

bool RegionFinisher::may_leave_unset(const SymbolicFrame& frame, int slot, const ValuePtr& value,
                                     bool innermost) const {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr || tensor->source != nullptr) return false;
  if (config().keep_dead_locals || frame.bytecode->observes_locals()) return false;
  // A caller goes on after its call; what the call's own handler may read is live at the call as well.
  return !frame.bytecode->is_live(innermost ? frame.index : frame.next, slot) &&
         !frame.bytecode->is_live(frame.index, slot);
}

std::vector<SlotValue> RegionFinisher::slots_of(const std::vector<std::pair<int, ValuePtr>>& values) {
  std::vector<SlotValue> slots;
  for (const auto& [slot, value] : values)
    slots.push_back({slot, value->kind == ValueKind::Null ? null_recipe() : recipe_of(value)});
  return slots;
}

FrameState RegionFinisher::root_state(bool innermost) {
  SymbolicFrame& frame = walk_.root();
  FrameState state;
  state.bytecode = frame.bytecode;
  state.index = frame.index;
  state.policy = frame.policy;
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    const ValuePtr& value = frame.slots[slot];
    if (value == walk_.initial_slots_[slot]) continue;
    bool unset = may_leave_unset(frame, slot, value, innermost);
    state.slots.push_back({slot, unset ? null_recipe() : recipe_of(value)});
  }
  state.keep_stack = frame.stack.size() == walk_.initial_stack_.size() &&
                     std::equal(frame.stack.begin(), frame.stack.end(), walk_.initial_stack_.begin());
  if (!state.keep_stack)
    for (const ValuePtr& value : frame.stack) state.stack.push_back(recipe_of(value));
  return state;
}

FrameState RegionFinisher::inner_state(size_t depth, bool innermost) {
  SymbolicFrame& frame = *walk_.frames_[depth];
  FrameState state;
  state.bytecode = frame.bytecode;
  state.index = frame.index;
  state.policy = frame.policy;
  state.function = recipe_of(frame.function);
  state.continuation = frame.continuation;
  if (frame.continuation_value) state.continuation_value = recipe_of(frame.continuation_value);
  const PyCodeObject* code = frame.bytecode->code();
  int parameters = code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0 ? 1 : 0) +
                   ((code->co_flags & CO_VARKEYWORDS) != 0 ? 1 : 0);
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    const ValuePtr& value = frame.slots[slot];
    if (may_leave_unset(frame, slot, value, innermost)) continue;
    bool deleted = value->kind == ValueKind::Null;
    // The call that makes the frame sets the parameters.
    if (deleted && (slot >= parameters || frame.bytecode->slot_kind(slot) != SlotKind::Local)) continue;
    state.slots.push_back({slot, deleted ? null_recipe() : recipe_of(value)});
  }
  for (const ValuePtr& value : frame.stack) state.stack.push_back(recipe_of(value));
  return state;
}

RecipeId RegionFinisher::output_recipe(ValueRef value) {
  Recipe recipe;
  recipe.kind = RecipeKind::Output;
  recipe.index = static_cast<int32_t>(outputs_.size());
  outputs_.push_back(value);
  snapshot_.recipes.push_back(std::move(recipe));
  return static_cast<RecipeId>(snapshot_.recipes.size() - 1);
}

void RegionFinisher::add_tensor_writes() {
  for (const auto& base : walk_.written_inputs_) {
    auto logged = walk_.logged_versions_.find(base.get());
    int written_before = logged != walk_.logged_versions_.end() ? logged->second : 0;
    if (base->version == written_before) continue;  // none, or a write that broke the graph
    RecipeId value = output_recipe(base->current);
    Effect effect{EffectKind::WriteTensor, recipe_of(walk_.by_source_.at(base->source)), value};
    effect.count = base->version - written_before;
    snapshot_.effects.push_back(effect);
  }
}

void RegionFinisher::add_effects() {
  bool has_output = walk_.has_output();
  if (!has_output) add_tensor_writes();
  for (const Walk::PendingEffect& pending : walk_.effects_) {
    Effect effect{pending.kind};
    if (pending.target) effect.target = recipe_of(pending.target);
    effect.flag = pending.flag;
    effect.count = pending.count;
    if (pending.kind == EffectKind::WriteTensor) effect.value = output_recipe(pending.tensor);
    if (pending.kind == EffectKind::SetCell) effect.value = recipe_of(pending.value);
    if (pending.value) effect.value = recipe_of(pending.value);
    if (pending.key) effect.key = recipe_of(pending.key);
    effect.location = pending.location;
    effect.start = pending.start;
    effect.stop = pending.stop;
    if (pending.kind == EffectKind::DequeAssign)
      effect.flag = as<SequenceValue>(as<ObjectValue>(pending.target)->writes->contents)->changes > 0;
    snapshot_.effects.push_back(effect);
  }
  if (has_output) add_tensor_writes();
  for (const ValuePtr& value : walk_.stored_cells_) {
    auto* cell = as<CellValue>(value);
    snapshot_.effects.push_back({EffectKind::SetCell, recipe_of(value), recipe_of(cell->contents), false});
  }
  if (walk_.grad_mode != walk_.logged_grad_mode_)
    snapshot_.effects.push_back({EffectKind::GradMode, kNoRecipe, kNoRecipe, walk_.grad_mode});
  if (walk_.inference_mode != walk_.logged_inference_mode_)
    snapshot_.effects.push_back({EffectKind::InferenceMode, kNoRecipe, kNoRecipe, walk_.inference_mode});
}

void RegionFinisher::end_before(int64_t step, BreakReason reason, const char* what) {
  throw RestartSignal{
      step, {exit_ == ExitKind::Return ? reason : BreakReason::call_out, what, "", {}, ""}, walk_.frame().policy};
}

// A generator is not rebuilt: Python makes it.
void RegionFinisher::end_before(const IteratorValue& generator) {
  // The program's own break in its body is the reason then.
  const RestartSignal* restart = walk_.restart_;
  if (exit_ == ExitKind::Break && restart != nullptr && restart->in_generator && walk_.steps_ == restart->step)
    throw RestartSignal{generator.creation_step, restart->graph_break, restart->policy, true};
  // Python meets the break again; under fullgraph it is an error before anything has run.
  if (graph_break_ != nullptr && !break_row(graph_break_->reason).silent && walk_.root().policy->fullgraph)
    throw RestartSignal{generator.creation_step, *graph_break_, walk_.frame().policy};
  end_before(generator.creation_step, BreakReason::generator_call, "a generator that goes on");
}

void RegionFinisher::check_generators() {
  // One that runs is left by the exception.
  for (const Handle<IteratorValue>& generator : walk_.generators_)
    if (walk_.needs_closing(*generator) && !generator->running) end_before(*generator);
}

void RegionFinisher::add_frames(size_t depth) {
  snapshot_.frames.push_back(root_state(depth == 1));
  for (size_t i = 1; i < depth; ++i) snapshot_.frames.push_back(inner_state(i, i + 1 == depth));
}

void RegionFinisher::add_frames_at_call(const std::vector<ValuePtr>& stack, bool goes_on) {
  exit_ = ExitKind::Raise;
  check_generators();
  size_t depth = walk_.frames_told();
  std::vector<std::vector<ValuePtr>> stacks;
  for (size_t i = 0; i < depth; ++i) {
    SymbolicFrame& frame = *walk_.frames_[i];
    stacks.push_back(frame.stack);
    if (i + 1 == depth) frame.stack = stack;
    if (goes_on) continue;
    // What the exception drops from the stack need not be made.
    auto kept = static_cast<size_t>(std::max(frame.bytecode->handler_at(frame.index).depth, 0));
    for (size_t at = kept; at < frame.stack.size(); ++at)
      if (frame.stack[at]->kind == ValueKind::Iterator) frame.stack[at] = walk_.none();
  }
  auto put_back = [&] {
    for (size_t i = 0; i < depth; ++i) walk_.frames_[i]->stack = std::move(stacks[i]);
  };
  try {
    add_frames(depth);
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

Snapshot RegionFinisher::describe_failure(const std::vector<ValuePtr>& stack, std::vector<ValueRef>& outputs) {
  add_frames_at_call(stack, false);
  add_effects();
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

Snapshot RegionFinisher::describe_output(const std::vector<ValuePtr>& stack, bool goes_on,
                                         std::vector<ValueRef>& outputs) {
  add_frames_at_call(stack, goes_on);
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

std::vector<std::pair<ValuePtr, RecipeId>> RegionFinisher::made_values() const {
  std::vector<std::pair<ValuePtr, RecipeId>> made;
  for (const ValuePtr& value : keep_alive_)
    if (auto* tensor = as<TensorValue>(value); tensor != nullptr && tensor->source == nullptr)
      made.emplace_back(value, recipes_.at(value.get()));
  return made;
}

// Where something is written to that an output may have shown the region ends before that output.
void RegionFinisher::check_outputs() {
  if (walk_.queued_.empty()) return;
  bool draws =
      std::ranges::any_of(walk_.graph_->nodes(), [](const auto& node) { return is_op(*node, OpKind::Random); });
  for (const QueuedOutput& output : walk_.queued_)
    if ((draws && output.site.runs_python) || !std::ranges::all_of(output.shown, is_as_shown))
      throw RestartSignal{output.step, output.graph_break, output.policy};
}

void RegionFinisher::add_outputs(CapturedRegion& region) {
  for (QueuedOutput& output : walk_.queued_) {
    OutputSite& site = output.site;
    auto pair_up = [&](const std::vector<std::pair<ValuePtr, RecipeId>>& made, auto& pairs) {
      for (const auto& [value, recipe] : made) {
        auto shown = std::ranges::find(output.frames, value, &ShownValue::value);
        auto found = recipes_.find(value.get());
        if (found != recipes_.end() && shown != output.frames.end() && is_as_shown(*shown))
          pairs.emplace_back(recipe, found->second);
      }
    };
    pair_up(output.made_locals, site.same_locals);
    pair_up(output.made_after, site.same_after);
    site.first_local = static_cast<int>(outputs_.size());
    outputs_.insert(outputs_.end(), output.locals.begin(), output.locals.end());
    site.first_after = static_cast<int>(outputs_.size());
    outputs_.insert(outputs_.end(), output.after.begin(), output.after.end());
    site.end = static_cast<int>(outputs_.size());
    region.outputs.push_back(std::move(site));
  }
}

namespace {

// The values that a value holds; nullopt: it is not shown among the locals of a frame. Generators are not rebuilt, an exception
// that was raised is Python's, numbers that are computed are worked out at exits, and a class is made once.
std::optional<std::vector<ValuePtr>> parts_of(const ValuePtr& value) {
  switch (value->kind) {
    case ValueKind::Object:
      if (as<ObjectValue>(value)->made_class) return std::nullopt;
      return std::vector<ValuePtr>{};
    case ValueKind::Null:
    case ValueKind::Tensor:
    case ValueKind::Set:
      return std::vector<ValuePtr>{};
    case ValueKind::Sequence:
      return as<SequenceValue>(value)->items;
    case ValueKind::Dict: {
      if (as<DictValue>(value)->type) return std::nullopt;
      std::vector<ValuePtr> parts;
      for (const DictValue::Entry& entry : as<DictValue>(value)->entries) parts.push_back(entry.value);
      return parts;
    }
    case ValueKind::Cell: {
      auto* cell = as<CellValue>(value);
      return cell->source != nullptr ? std::vector<ValuePtr>{} : std::vector<ValuePtr>{cell->contents};
    }
    case ValueKind::Function: {
      auto* function = as<FunctionValue>(value);
      std::vector<ValuePtr> parts = function->closure;
      for (const ValuePtr& part :
           {function->globals_from, function->defaults, function->kw_defaults, function->annotations})
        parts.push_back(part);
      return parts;
    }
    case ValueKind::BoundMethod:
      return std::vector<ValuePtr>{as<BoundMethodValue>(value)->function, as<BoundMethodValue>(value)->self};
    case ValueKind::PolicyFunction:
      return std::vector<ValuePtr>{as<PolicyFunctionValue>(value)->function};
    case ValueKind::Slice: {
      auto* slice = as<SliceValue>(value);
      return std::vector<ValuePtr>{slice->start, slice->stop, slice->step};
    }
    case ValueKind::Instance: {
      auto* instance = as<InstanceValue>(value);
      if (instance->exception) return std::nullopt;
      std::vector<ValuePtr> parts{instance->type};
      for (const auto& [name, attribute] : instance->attributes) parts.push_back(attribute);
      return parts;
    }
    case ValueKind::Number:
      return std::vector<ValuePtr>{};
    case ValueKind::Computed:
      if (!as<ComputedValue>(value)->known) return std::nullopt;
      return std::vector<ValuePtr>{};
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Super:
    case ValueKind::Made:
    case ValueKind::DictView:
    case ValueKind::Identity:
    case ValueKind::InstanceDict:
      return std::nullopt;
  }
  return std::nullopt;
}

bool can_show(const ValuePtr& value) {
  std::unordered_set<const Value*> met{value.get()};
  std::vector<ValuePtr> open{value};
  while (!open.empty()) {
    ValuePtr next = std::move(open.back());
    open.pop_back();
    std::optional<std::vector<ValuePtr>> parts = parts_of(next);
    if (!parts) return false;
    for (const ValuePtr& part : *parts)
      if (part && met.insert(part.get()).second) open.push_back(part);
  }
  return true;
}

}  // namespace

FrameState RegionFinisher::locals_of(const SymbolicFrame& frame, bool innermost) {
  FrameState state;
  state.bytecode = frame.bytecode;
  bool has_own_closure = frame.function->kind == ValueKind::Function;
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    ValuePtr value = frame.slots[slot];
    if (auto* cell = as<CellValue>(value)) {
      // Those of functions that exist are there.
      if (frame.bytecode->slot_kind(slot) == SlotKind::Free && !has_own_closure) continue;
      bool is_known = cell->source == nullptr || cell->stored || (cell->loaded && cell->contents);
      if (!is_known && !has_own_closure) continue;
      if (is_known) value = cell->contents;
    }
    if (!value || value->kind == ValueKind::Null || may_leave_unset(frame, slot, value, innermost)) continue;
    if (can_show(value)) state.slots.push_back({slot, recipe_of(value)});
  }
  return state;
}

Snapshot RegionFinisher::describe_locals(std::vector<ValueRef>& outputs) {
  size_t depth = walk_.frames_.size();
  for (size_t i = 0; i < depth; ++i) snapshot_.frames.push_back(locals_of(*walk_.frames_[i], i + 1 == depth));
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

CapturedRegion RegionFinisher::finish(ExitKind exit, std::optional<GraphBreak> graph_break) {
  CapturedRegion region;
  exit_ = exit;
  graph_break_ = graph_break ? &*graph_break : nullptr;
  check_generators();
  check_outputs();
  region.exit = exit;
  region.entered = walk_.entered_;
  region.is_strict_inside = walk_.met_strict_;
  if (exit == ExitKind::Return) {
    snapshot_.result = recipe_of(walk_.result_);
    FrameState state;
    state.bytecode = walk_.root().bytecode;
    state.index = walk_.root().index;
    state.policy = walk_.root().policy;
    state.slots = slots_of(walk_.changed_slots());
    snapshot_.frames.push_back(std::move(state));
  } else {
    for (const auto& frame : walk_.frames_)
      if (frame->locals) end_before(frame->locals_step, BreakReason::frame_inspection, "the dict of locals()");
    add_frames(walk_.frames_.size());
  }
  for (const auto& frame : walk_.returns_) snapshot_.returns.push_back({frame.index, slots_of(frame.changed)});
  add_effects();
  add_outputs(region);
  Graph& graph = *walk_.graph_;
  graph.set_outputs(outputs_);
  region.met_operations = graph.op_count() > 0;
  if (region.met_operations) walk_.guards_.global_state();
  run_passes(graph);
  graph.assume(walk_.sizes_.assumptions());
  // A number that no op takes in the end was guarded by its value.
  std::vector<std::vector<Node*>> users = graph.all_users();
  auto is_used = [&](const Node& node) {
    return node.kind != NodeKind::ScalarInput || !users[static_cast<size_t>(node.index)].empty();
  };
  for (int kept : graph.retain(is_used, true)) {
    const Walk::Input& input = walk_.inputs_[static_cast<size_t>(kept)];
    region.inputs.push_back({input.source, input.source == nullptr ? recipe_of(input.computed) : kNoRecipe});
  }
  settle_symbols(region);
  walk_.sizes_.add_guards(walk_.guards_);
  region.violations = walk_.sizes_.violations(walk_.start_.bytecode);
  region.graph = walk_.graph_;
  region.graph_break = std::move(graph_break);
  region.snapshot = std::move(snapshot_);
  region.guards = std::move(walk_.guards_);
  region.call_outs = std::move(walk_.call_outs_);
  region.walk = walk_.number_;
  return region;
}

}  // namespace md
