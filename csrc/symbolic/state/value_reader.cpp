#include "symbolic/state/value_reader.h"

#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"

namespace md {

namespace {

// Returns true if __class__ can be assigned.
bool class_may_change(BorrowedRef object) { return may_change(object.type()) || PyModule_Check(object.get()); }

}  // namespace

ValueReader::ValueReader(const TraceStart& start, const ClassBuilder& classes)
    : start_(start), classes_(classes), guards_(std::make_unique<GuardSet>()) {}

ValueReader::~ValueReader() = default;

SourcePool& ValueReader::sources() { return guards_->sources(); }

ValuePtr ValueReader::integer(int64_t value) { return constant(check(PyLong_FromLongLong(value))); }

ValuePtr ValueReader::string(const std::string& text) {
  return constant(check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()))));
}

ValuePtr ValueReader::constant(BorrowedRef object) {
  if (!classes_.is_empty() && PyType_Check(object.get()))
    if (TracedClass* made = classes_.find(object)) return made->value;
  // Singletons keep one Value, so comparing small constants by identity is free.
  bool singleton = object.get() == Py_None || object.get() == Py_True || object.get() == Py_False;
  if (!singleton) return make_value<ObjectValue>(Ref::share(object), nullptr);
  ValuePtr& value = constants_[object];
  if (!value) value = make_value<ObjectValue>(Ref::share(object), nullptr);
  return value;
}

ValuePtr ValueReader::find(const Source* source) const {
  auto found = by_source_.find(source);
  return found != by_source_.end() ? found->second : nullptr;
}

void ValueReader::set(const Source* source, ValuePtr value) { by_source_[source] = std::move(value); }

PyTypeObject* ValueReader::exact_type(const ValuePtr& value) {
  if (auto* object = as<ObjectValue>(value)) {
    PyTypeObject* type = object->object.type();
    if (object->source != nullptr && !object->type_guarded) {
      // A heap type that does not support weak references cannot be guarded.
      if (!GuardSet::can_hold(reinterpret_cast<PyObject*>(type)))
        graph_break(BreakReason::unguardable_object, type->tp_name);
      guards_->type_match(object->source, type);
      object->type_guarded = true;
    }
    return type;
  }
  if (auto* tensor = as<TensorValue>(value)) guard_tensor(tensor);
  PyTypeObject* type = type_of(value);
  MD_ASSERT(type != nullptr, "NULL has no type");
  return type;
}

void ValueReader::guard_tensor(TensorValue* tensor) {
  if (tensor->source == nullptr || tensor->guarded) return;
  // A spec that has lost its symbols since was specialised by relations.
  TensorView view;
  read_view(*tensor->family, tensor->object, view);
  guards_->tensor_match(tensor->source, tensor->object.type(), tensor->spec, tensor->stride_over, view.witness);
  tensor->guarded = true;
}

BorrowedRef ValueReader::identity_of(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return nullptr;
  if (object->source != nullptr && !object->value_guarded) {
    if (!GuardSet::can_hold(object->object.get()))
      graph_break(BreakReason::unguardable_object, object->object.type()->tp_name);
    guards_->id_match(object->source, object->object.get());
    object->value_guarded = true;
    object->type_guarded = object->type_guarded || !class_may_change(object->object);
  }
  return object->object.get();
}

}  // namespace md
