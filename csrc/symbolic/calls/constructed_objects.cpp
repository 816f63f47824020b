// Constructed objects, instances of immutable C classes (functools.partial, operator.itemgetter): creating and calling
// them.
#include <unordered_map>

#include "cpython/imports.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/constructed_objects.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// By class; null: partial, whose call forwards to the function it holds.
std::unordered_map<PyTypeObject*, Ref>& made_classes() {
  static auto* table = new std::unordered_map<PyTypeObject*, Ref>();  // never freed
  return *table;
}

// Attributes for which C code makes a new object of a class, called with the owner, at each read. By descriptor.
std::unordered_map<PyObject*, Ref>& made_fields() {
  static auto* table = new std::unordered_map<PyObject*, Ref>();  // never freed
  return *table;
}

PyTypeObject* partial_type() {
  static PyObject* const type = imported("functools", "partial").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

// The arguments of a call of partial(function, *positional, **keywords).
CallArgs merged(const std::vector<ValuePtr>& positional, const std::vector<std::pair<Ref, ValuePtr>>& keywords,
                CallArgs& args) {
  CallArgs whole{positional, keywords};
  whole.positional.insert(whole.positional.end(), args.positional.begin(), args.positional.end());
  for (auto& [name, value] : args.keywords) {
    bool known = false;
    for (auto& [other, held] : whole.keywords) {
      if (PyUnicode_Compare(other, name) != 0) continue;
      held = value;
      known = true;
    }
    if (!known) whole.keywords.emplace_back(name, value);
  }
  return whole;
}

ValuePtr make(Tracer& tracer, PyTypeObject* type, const CallArgs& args) {
  return make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(type)), args.positional,
                                      args.keywords);
}

ValuePtr make_partial(Tracer& tracer, const CallArgs& args) {
  if (args.positional.empty()) raise_here();
  PyTypeObject* type = tracer.values().exact_type(args.positional[0]);
  if (!is_callable(tracer, args.positional[0])) raise_here();
  auto* inner = as<ConstructedValue>(args.positional[0]);
  if (inner == nullptr || type != partial_type()) return make(tracer, partial_type(), args);
  // partial() flattens a nested partial.
  CallArgs more = args;
  more.positional.erase(more.positional.begin());
  return make(tracer, partial_type(), merged(inner->positional, inner->keywords, more));
}

// itemgetter and similar: an error in their arguments is left to the interpreter.
template <bool is_method>
ValuePtr make_getter(Tracer& tracer, PyTypeObject* type, const CallArgs& args) {
  if (args.positional.empty() || (!is_method && !args.keywords.empty())) raise_here();
  return make(tracer, type, args);
}

PyTypeObject* getter(const char* name) { return reinterpret_cast<PyTypeObject*>(imported("operator", name).release()); }

ValuePtr make_itemgetter(Tracer& tracer, const CallArgs& args) {
  static PyTypeObject* const type = getter("itemgetter");
  return make_getter<false>(tracer, type, args);
}

ValuePtr make_attrgetter(Tracer& tracer, const CallArgs& args) {
  static PyTypeObject* const type = getter("attrgetter");
  for (const ValuePtr& name : args.positional)
    if (type_of(name) != &PyUnicode_Type) raise_here();
  return make_getter<false>(tracer, type, args);
}

ValuePtr make_methodcaller(Tracer& tracer, const CallArgs& args) {
  static PyTypeObject* const type = getter("methodcaller");
  if (args.positional.empty() || type_of(args.positional[0]) != &PyUnicode_Type) raise_here();
  return make_getter<true>(tracer, type, args);
}

PyTypeObject* comparison_key_type() {
  static PyObject* const type = [] {
    Ref made = check(PyObject_CallFunctionObjArgs(imported("functools", "cmp_to_key"), Py_None, nullptr));
    return Py_NewRef(reinterpret_cast<PyObject*>(made.type()));
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

// cmp_to_key(compare): the factory of keys. A key is a ConstructedValue as well, created by calling the factory.
ValuePtr make_comparison_key(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = imported("functools", "cmp_to_key").release();
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  auto made = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(comparison_key_type())),
                                           args.positional, std::vector<std::pair<Ref, ValuePtr>>{});
  made->maker = tracer.values().constant(function);
  return made;
}

// types.MethodType(function, object)
ValuePtr make_method(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  if (!is_python_function(args.positional[0]) || same_object(tracer, args.positional[1], tracer.values().none()))
    graph_break(BreakReason::object_creation, "a method of " + describe(args.positional[0]));
  return make_value<BoundMethodValue>(args.positional[0], args.positional[1]);
}

// A part of a pre-existing partial: the parts are fixed, but the dict of its keywords may change.
ValuePtr part_of(Tracer& tracer, const ValuePtr& partial, const char* name) {
  Ref descriptor = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(partial_type()), name));
  const Source* base = as<ObjectValue>(partial)->source;
  return value_at(tracer, tracer.sources().get(SourceKind::SlotAttr, base, descriptor.get()));
}

}  // namespace

bool call_constructed(Tracer& tracer, ConstructedValue* made, CallArgs& args, ContinuationKind continuation,
                      const ValuePtr& continuation_value) {
  PyTypeObject* type = class_in(made->type);
  if (type == partial_type()) {
    CallArgs whole = merged(made->positional, made->keywords, args);
    ValuePtr function = whole.positional[0];
    whole.positional.erase(whole.positional.begin());
    call(tracer, function, std::move(whole), continuation, continuation_value);
    return true;
  }
  if (type == comparison_key_type()) {
    if (args.positional.size() != 1 || !args.keywords.empty() || made->maker->kind == ValueKind::Constructed)
      raise_here();
    auto key = make_value<ConstructedValue>(made->type, args.positional, std::vector<std::pair<Ref, ValuePtr>>{});
    key->maker = ValuePtr(made);
    apply_continuation(tracer, continuation, continuation_value, key);
    return true;
  }
  if (type == &_PyWeakref_RefType) {
    apply_continuation(tracer, continuation, continuation_value, follow_made_reference(tracer, *made, args));
    return true;
  }
  auto row = made_classes().find(type);
  if (row == made_classes().end()) return false;
  auto function = make_value<FunctionValue>();
  auto* model = reinterpret_cast<PyFunctionObject*>(row->second.get());
  function->code = Ref::share(model->func_code);
  if (model->func_defaults != nullptr)
    function->defaults = make_value<ObjectValue>(Ref::share(model->func_defaults), nullptr);
  auto keywords = make_value<DictValue>();
  for (const auto& [name, value] : made->keywords) keywords->set(name.get(), value);
  if (!args.keywords.empty()) raise_here();
  args.positional.insert(args.positional.begin(), keywords);
  args.positional.insert(args.positional.begin(), make_value<SequenceValue>(false, made->positional));
  ValuePtr result = call_now(tracer, function, std::move(args));
  apply_continuation(tracer, continuation, continuation_value, std::move(result));
  return true;
}

bool call_partial(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                  const ValuePtr& continuation_value) {
  auto* object = as<ObjectValue>(callable);
  if (!Py_IS_TYPE(object->object.get(), partial_type()) || object->source == nullptr) return false;
  tracer.values().exact_type(callable);
  ValuePtr function = part_of(tracer, callable, "func");
  auto positional = elements_of(tracer, part_of(tracer, callable, "args"));
  auto entries = entries_of(tracer, part_of(tracer, callable, "keywords"));
  if (!positional || !entries) return false;
  std::vector<std::pair<Ref, ValuePtr>> keywords;
  for (const DictValue::Entry& entry : *entries) {
    if (!PyUnicode_CheckExact(entry.key.get())) return false;
    keywords.emplace_back(entry.key, entry.value);
  }
  call(tracer, function, merged(*positional, keywords, args), continuation, continuation_value);
  return true;
}

ValuePtr made_field(Tracer& tracer, BorrowedRef descriptor, const ValuePtr& object) {
  auto row = made_fields().find(descriptor.get());
  if (row == made_fields().end() || type_of(object) != PyDescr_TYPE(descriptor.get())) return nullptr;
  return make_value<ConstructedValue>(tracer.values().constant(row->second.get()), std::vector<ValuePtr>{object},
                                      std::vector<std::pair<Ref, ValuePtr>>{});
}

void register_made_class(PyTypeObject* type, BorrowedRef call) {
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  made_classes()[type] = Ref::share(call);
}

namespace {

// Before 3.12 the attributes of a ParamSpec are properties in Python.
void add_made_fields() {
  if (PY_VERSION_HEX < 0x030C0000) return;
  Ref owner = imported("_typing", "ParamSpec");
  for (const auto& [name, made] : {std::pair("args", "ParamSpecArgs"), std::pair("kwargs", "ParamSpecKwargs")})
    made_fields()[check(PyObject_GetAttrString(owner, name)).release()] = imported("_typing", made);
}

void add_made_calls() {
  add_made_fields();
  register_call(reinterpret_cast<PyObject*>(partial_type()), make_partial);
  register_call(imported("functools", "cmp_to_key").get(), make_comparison_key);
  register_call(reinterpret_cast<PyObject*>(&PyMethod_Type), make_method);
  const std::pair<const char*, CallHandler> rows[] = {
      {"itemgetter", make_itemgetter}, {"attrgetter", make_attrgetter}, {"methodcaller", make_methodcaller}};
  for (const auto& [name, handler] : rows) register_call(imported("operator", name).get(), handler);
}

const CallRegistration call_registration(add_made_calls);

}  // namespace

}  // namespace md
