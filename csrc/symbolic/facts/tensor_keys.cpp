#include "symbolic/facts/tensor_keys.h"

#include "guards/tensor_family.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// Each is compared with all others.
constexpr size_t kMostTensors = 192;

bool is_hashed_by_identity(Tracer& tracer, const ValuePtr& tensor) {
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  ValuePtr found = type_attribute(tracer, tensor, kHash);
  auto* method = as<ObjectValue>(found);
  if (method == nullptr) return false;
  auto own = as<TensorValue>(tensor)->family->hash_function;
  if (own != nullptr) {
    BorrowedRef function = own();
    bool is_own = function.get() != Py_None && method->object.get() == function.get();
    return is_own && tracer.values().identity_of(found) != nullptr;
  }
  return Py_IS_TYPE(method->object.get(), &PyWrapperDescr_Type);
}

}  // namespace

Ref tensor_key(Tracer& tracer, const ValuePtr& tensor, bool held) {
  if (!is_hashed_by_identity(tracer, tensor)) return nullptr;
  std::vector<KeyTable::TensorKey>& keys = tracer.keys().tensor_keys();
  BorrowedRef existing = existing_object(tensor);
  for (const KeyTable::TensorKey& known : keys) {
    bool is_same = known.held && held ? existing.get() == known.key.get() : same_object(tracer, known.value, tensor);
    if (is_same) return known.key;
  }
  if (!held && keys.size() >= kMostTensors) return nullptr;
  Ref key =
      existing ? Ref::share(existing) : check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  keys.push_back({tensor, Ref::share(key.get()), held});
  tracer.keys().set(key.get(), tensor);
  return key;
}

}  // namespace md
