#include "symbolic/values/value.h"

#include <algorithm>

#include "cpython/library_types.h"
#include "guards/guard_set.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

// == runs no user code: both are constants of exact built-in types (1, 1.0 and True are one key, as for dict), objects
// equal only to themselves, or key proxies, which dict compares with keys of the same hash.
bool same_key(BorrowedRef a, BorrowedRef b) {
  if (a.get() == b.get()) return true;
  if ((is_key_proxy(a) || is_key_proxy(b)) && PyObject_Hash(a) != PyObject_Hash(b)) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  check_status(equal);
  return equal == 1;
}

PyTypeObject* type_of_dict_iterator(const ValuePtr& base) {
  static PyTypeObject* const kTypes[] = {&PyDictIterKey_Type, &PyDictIterValue_Type, &PyDictIterItem_Type};
  auto* view = as<DictViewValue>(base);
  PyTypeObject* owner = type_of(view != nullptr ? view->dict : base);
  if (owner != nullptr && PyType_IsSubtype(owner, &PyODict_Type) != 0) return &PyODictIter_Type;
  return kTypes[view != nullptr ? view->what : 0];
}

// The type of iter() of a sequence of this class; some iterator types have no name in C.
PyTypeObject* type_of_sequence_iterator(const ValuePtr& base) {
  auto type_of_sample = [](PyObject* sample) { return check(PyObject_GetIter(check(sample))).type(); };
  PyTypeObject* type = type_of(base);
  if (type == nullptr || PyType_IsSubtype(type, &PyList_Type) != 0) return &PyListIter_Type;
  if (PyType_IsSubtype(type, &PyTuple_Type) != 0) return &PyTupleIter_Type;
  auto* object = as<ObjectValue>(base);
  if (object != nullptr && PyUnicode_Check(object->object.get())) return check(PyObject_GetIter(object->object)).type();
  if (is_deque(base)) return type_of_sample(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)));
  return &PyListIter_Type;
}

PyTypeObject* iterator_type(const IteratorValue& iterator) {
  switch (iterator.iterator_kind) {
    case IteratorKind::Range:
      return &PyRangeIter_Type;
    case IteratorKind::Enumerate:
      return &PyEnum_Type;
    case IteratorKind::Zip:
      return &PyZip_Type;
    case IteratorKind::Map:
      return &PyMap_Type;
    case IteratorKind::Filter:
      return &PyFilter_Type;
    case IteratorKind::Generator:
      return iterator.type;
    case IteratorKind::Reversed:
      return type_of(iterator.bases[0]) == &PyList_Type ? &PyListRevIter_Type : &PyReversed_Type;
    case IteratorKind::Dict:
      return type_of_dict_iterator(iterator.bases[0]);
    case IteratorKind::Set:
      return &PySetIter_Type;
    case IteratorKind::User:
      return type_of(iterator.bases[0]);
    case IteratorKind::Sequence:
      return type_of_sequence_iterator(iterator.bases[0]);
  }
  return nullptr;
}

}  // namespace

const ValuePtr* PendingWrites::find(BorrowedRef key) const {
  auto is_at = [&](int at) { return same_key(stores[static_cast<size_t>(at)].first, key); };
  if (stores.size() > KeyIndex::kShort && KeyIndex::has_plain_hash(key) && index_.worth(stores.size(), 0)) {
    while (index_.covered() < stores.size()) index_.add(stores[index_.covered()].first.get());
    int last = -1;
    for (const std::vector<int>* places : {&index_.with_hash_of(key), &index_.others()})
      if (auto found = std::find_if(places->rbegin(), places->rend(), is_at); found != places->rend())
        last = std::max(last, *found);
    return last < 0 ? nullptr : &stores[static_cast<size_t>(last)].second;
  }
  for (auto store = stores.rbegin(); store != stores.rend(); ++store)
    if (same_key(store->first, key)) return &store->second;
  return nullptr;
}

int DictValue::find(BorrowedRef key) const {
  if (entries.size() > KeyIndex::kShort && KeyIndex::has_plain_hash(key) && index_.worth(entries.size(), erased))
    return find_indexed(key);
  for (size_t i = 0; i < entries.size(); ++i)
    if (same_key(entries[i].key.get(), key)) return static_cast<int>(i);
  return -1;
}

int DictValue::find_indexed(BorrowedRef key) const {
  while (index_.covered() < entries.size()) index_.add(entries[index_.covered()].key.get());
  for (const std::vector<int>* places : {&index_.with_hash_of(key), &index_.others()})
    for (int at : *places)
      if (same_key(entries[static_cast<size_t>(at)].key.get(), key)) return at;
  return -1;
}

void DictValue::set(BorrowedRef key, ValuePtr value) {
  int at = find(key);
  if (at >= 0) {
    entries[at].value = std::move(value);
  } else {
    entries.push_back({Ref::share(key), std::move(value)});
  }
}

bool DictValue::erase(BorrowedRef key) {
  int at = find(key);
  if (at < 0) return false;
  entries.erase(entries.begin() + at);
  ++erased;
  return true;
}

bool SetValue::contains(BorrowedRef item) const {
  int found = PySet_Contains(set, item);
  check_status(found);
  return found == 1;
}

ValuePtr* FunctionValue::find(BorrowedRef name) {
  for (auto& [key, value] : names)
    if (same_key(key.get(), name)) return &value;
  // An entry of __dict__ under the name of a data descriptor is not an attribute.
  PyObject* descriptor = _PyType_Lookup(&PyFunction_Type, name);
  if (descriptor != nullptr && Py_TYPE(descriptor)->tp_descr_set != nullptr) return nullptr;
  int at = dict ? dict->find(name) : -1;
  return at < 0 ? nullptr : &dict->entries[static_cast<size_t>(at)].value;
}

ValuePtr* InstanceValue::find(BorrowedRef name) {
  for (auto& [key, value] : attributes)
    if (same_key(key.get(), name)) return &value;
  return nullptr;
}

const Source* source_of(const ValuePtr& value) {
  if (auto* object = as<ObjectValue>(value)) return object->source;
  if (auto* tensor = as<TensorValue>(value)) return tensor->source;
  if (auto* cell = as<CellValue>(value)) return cell->source;
  return nullptr;
}

bool is_dynamic(const ValuePtr& value) {
  if (auto* object = as<ObjectValue>(value)) return object->is_dynamic && !object->value_guarded;
  auto* computed = as<ComputedValue>(value);
  return computed != nullptr && !computed->known;
}

bool is_deque(const ValuePtr& value) { return type_of(value) == deque_type(); }

bool has_user_type(const ValuePtr& value) {
  if (value->kind == ValueKind::Instance) return true;
  auto* object = as<ObjectValue>(value);
  return object != nullptr && PyType_HasFeature(object->object.type(), Py_TPFLAGS_HEAPTYPE);
}

PyTypeObject* type_of(const ValuePtr& value) {
  switch (value->kind) {
    case ValueKind::Null:
      return nullptr;
    case ValueKind::Object:
      return as<ObjectValue>(value)->object.type();
    case ValueKind::Tensor: {
      auto* tensor = as<TensorValue>(value);
      return tensor->object ? tensor->object.type() : default_tensor_type().type;
    }
    case ValueKind::Sequence: {
      auto* sequence = as<SequenceValue>(value);
      if (auto* type = as<ObjectValue>(sequence->type)) return reinterpret_cast<PyTypeObject*>(type->object.get());
      return sequence->is_list ? &PyList_Type : &PyTuple_Type;
    }
    case ValueKind::Dict:
      if (auto* type = as<ObjectValue>(as<DictValue>(value)->type))
        return reinterpret_cast<PyTypeObject*>(type->object.get());
      return &PyDict_Type;
    case ValueKind::Set:
      return &PySet_Type;
    case ValueKind::Slice:
      return &PySlice_Type;
    case ValueKind::Cell:
      return &PyCell_Type;
    case ValueKind::Function:
      return &PyFunction_Type;
    case ValueKind::BoundMethod: {
      PyTypeObject* function = type_of(as<BoundMethodValue>(value)->function);
      // Not every version has a C name for the type of a bound slot wrapper.
      static PyTypeObject* const slot_method = check(PyObject_GetAttrString(Py_None, "__init__")).type();
      if (function == &PyWrapperDescr_Type) return slot_method;
      bool is_builtin = function == &PyMethodDescr_Type || function == &PyClassMethodDescr_Type;
      return is_builtin ? &PyCFunction_Type : &PyMethod_Type;
    }
    case ValueKind::PolicyFunction:
      return policy_function_type();
    case ValueKind::Instance:
      return reinterpret_cast<PyTypeObject*>(as<ObjectValue>(as<InstanceValue>(value)->type)->object.get());
    case ValueKind::RaisedPart:
      return as<RaisedPartValue>(value)->is_traceback ? &PyTraceBack_Type
                                                      : reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    case ValueKind::Iterator:
      return iterator_type(*as<IteratorValue>(value));
    case ValueKind::Super:
      return &PySuper_Type;
    case ValueKind::Constructed:
      return reinterpret_cast<PyTypeObject*>(as<ObjectValue>(as<ConstructedValue>(value)->type)->object.get());
    case ValueKind::Number:
      return as<NumberValue>(value)->type;
    case ValueKind::Computed:
      return as<ComputedValue>(value)->current.type();
    case ValueKind::DictView: {
      static PyTypeObject* const kTypes[] = {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type};
      return kTypes[as<DictViewValue>(value)->what];
    }
    case ValueKind::Identity:
      return &PyLong_Type;
    case ValueKind::InstanceDict:
      return &PyDict_Type;
  }
  return nullptr;
}

std::string describe(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == nullptr ? "NULL" : type->tp_name;
}

}  // namespace md
