#include "symbolic/values/value.h"

#include <algorithm>

#include "cpython/library_types.h"
#include "guards/guard_set.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

// As dict compares keys: only those of the same hash. == runs no user code then: both are constants of exact built-in
// types (1, 1.0 and True are one key), objects equal only to themselves, key proxies, or tuples of them.
bool same_key(BorrowedRef a, BorrowedRef b) {
  if (a.get() == b.get()) return true;
  if (PyObject_Hash(a) != PyObject_Hash(b)) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  check_status(equal);
  return equal == 1;
}

PyTypeObject* type_of_dict_iterator(const ValuePtr& base, bool reversed) {
  static PyTypeObject* const kTypes[] = {&PyDictIterKey_Type,    &PyDictIterValue_Type,    &PyDictIterItem_Type,
                                         &PyDictRevIterKey_Type, &PyDictRevIterValue_Type, &PyDictRevIterItem_Type};
  auto* view = as<DictViewValue>(base);
  PyTypeObject* owner = type_of(view != nullptr ? view->dict : base);
  if (owner != nullptr && PyType_IsSubtype(owner, &PyODict_Type) != 0) return &PyODictIter_Type;
  return kTypes[(view != nullptr ? view->what : 0) + (reversed ? 3 : 0)];
}

// The type of iter() of a sequence of this class; some iterator types have no name in C.
PyTypeObject* type_of_sequence_iterator(const ValuePtr& base) {
  auto type_of_sample = [](PyObject* sample) { return check(PyObject_GetIter(check(sample))).type(); };
  if (base->kind == ValueKind::Tensor) return &PySeqIter_Type;
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
      return type_of_dict_iterator(iterator.bases[0], iterator.step < 0);
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

ObjectValue::~ObjectValue() = default;
TensorValue::~TensorValue() { leave_base(); }
void TensorValue::share(std::shared_ptr<TensorBase> shared) {
  leave_base();
  base = std::move(shared);
  base->members.push_back(this);
}
void TensorValue::leave_base() {
  // Views die mostly in the order opposite to that in which they were made.
  if (base == nullptr) return;
  auto place = std::find(base->members.rbegin(), base->members.rend(), this);
  if (place != base->members.rend()) base->members.erase(std::next(place).base());
  base = nullptr;
}
SequenceValue::~SequenceValue() = default;
DictValue::~DictValue() = default;
FunctionValue::~FunctionValue() = default;
InstanceValue::~InstanceValue() = default;
IteratorValue::~IteratorValue() = default;
ConstructedValue::~ConstructedValue() = default;

const ValuePtr* PendingWrites::find_attribute(BorrowedRef name) const {
  if (!has_items) return find(name);
  auto is_named = [&](const auto& store) { return same_key(store.first, name); };
  auto found = std::find_if(attributes.rbegin(), attributes.rend(), is_named);
  return found != attributes.rend() ? &found->second : nullptr;
}

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

ValuePtr* find_attribute(OwnAttributes& attributes, BorrowedRef name) {
  for (auto& [key, value] : attributes)
    if (same_key(key.get(), name)) return &value;
  return nullptr;
}

ValuePtr* InstanceValue::find(BorrowedRef name) { return find_attribute(attributes, name); }

bool takes_attributes(const DictValue& dict) {
  if (as<ObjectValue>(dict.type) == nullptr || dict.factory) return false;
  return PyType_HasFeature(class_in(dict.type), Py_TPFLAGS_HEAPTYPE) || class_in(dict.type) == &PyODict_Type;
}

OwnAttributes* own_attributes_of(const ValuePtr& value) {
  if (auto* instance = as<InstanceValue>(value)) return &instance->attributes;
  if (auto* list = as<SequenceValue>(value); list != nullptr && list->is_list && list->type)
    return PyType_IsSubtype(type_of(value), &PyList_Type) != 0 ? &list->attributes : nullptr;
  auto* dict = as<DictValue>(value);
  return dict != nullptr && takes_attributes(*dict) ? &dict->attributes : nullptr;
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

const TensorFamily& answering_family(const ValuePtr& left, const ValuePtr& right) {
  auto *a = as<TensorValue>(left), *b = as<TensorValue>(right);
  if (a == nullptr || b == nullptr) return *(a != nullptr ? a : b)->family;
  return *(b->family->rank > a->family->rank ? b : a)->family;
}

bool is_deque(const ValuePtr& value) { return type_of(value) == deque_type(); }

bool has_user_type(const ValuePtr& value) {
  if (value->kind == ValueKind::Instance) return true;
  auto* object = as<ObjectValue>(value);
  return object != nullptr && PyType_HasFeature(object->object.type(), Py_TPFLAGS_HEAPTYPE);
}

namespace {

PyTypeObject* kind_type(const NullValue&) { return nullptr; }
PyTypeObject* kind_type(const ObjectValue& value) { return value.object.type(); }
PyTypeObject* kind_type(const TensorValue& value) {
  return value.object ? value.object.type() : value.family->result_type(value.spec.dtype, value.spec.rank());
}
PyTypeObject* kind_type(const SequenceValue& value) {
  if (as<ObjectValue>(value.type) != nullptr) return class_in(value.type);
  return value.is_list ? &PyList_Type : &PyTuple_Type;
}
PyTypeObject* kind_type(const DictValue& value) {
  return as<ObjectValue>(value.type) != nullptr ? class_in(value.type) : &PyDict_Type;
}
PyTypeObject* kind_type(const SetValue& set) { return set.set.type(); }
PyTypeObject* kind_type(const SliceValue&) { return &PySlice_Type; }
PyTypeObject* kind_type(const CellValue&) { return &PyCell_Type; }
PyTypeObject* kind_type(const FunctionValue&) { return &PyFunction_Type; }
PyTypeObject* kind_type(const BoundMethodValue& value) {
  PyTypeObject* function = type_of(value.function);
  // Not every version has a C name for the type of a bound slot wrapper.
  static PyTypeObject* const slot_method = check(PyObject_GetAttrString(Py_None, "__init__")).type();
  if (function == &PyWrapperDescr_Type) return slot_method;
  bool is_builtin = function == &PyMethodDescr_Type || function == &PyClassMethodDescr_Type;
  return is_builtin ? &PyCFunction_Type : &PyMethod_Type;
}
PyTypeObject* kind_type(const PolicyFunctionValue&) { return policy_function_type(); }
PyTypeObject* kind_type(const InstanceValue& value) { return class_in(value.type); }
PyTypeObject* kind_type(const RaisedPartValue& value) {
  return value.is_traceback ? &PyTraceBack_Type : reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
}
PyTypeObject* kind_type(const IteratorValue& value) { return iterator_type(value); }
PyTypeObject* kind_type(const SuperValue&) { return &PySuper_Type; }
PyTypeObject* kind_type(const ConstructedValue& value) { return class_in(value.type); }
PyTypeObject* kind_type(const NumberValue& value) { return value.type; }
PyTypeObject* kind_type(const ComputedValue& value) { return value.current.type(); }
PyTypeObject* kind_type(const DictViewValue& value) {
  static PyTypeObject* const kTypes[] = {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type};
  return kTypes[value.what];
}
PyTypeObject* kind_type(const IdentityValue&) { return &PyLong_Type; }
PyTypeObject* kind_type(const InstanceDictValue&) { return &PyDict_Type; }

}  // namespace

PyTypeObject* type_of(const ValuePtr& value) {
  return visit_kind(*value, [](const auto& own) { return kind_type(own); });
}

std::string describe(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  std::string text = type == nullptr ? "NULL" : type->tp_name;
  auto* object = as<ObjectValue>(value);
  const TensorFamily* family = object != nullptr && type != nullptr ? find_family(type) : nullptr;
  TensorView view;
  if (family != nullptr && !read_view(*family, object->object, view)) text += str_cat(" that ", view.refusal);
  return text;
}

}  // namespace md
