#include "guards/tensor_family.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "guards/object_memory.h"

namespace md {
namespace {

struct RegisteredType {
  PyTypeObject* type = nullptr;
  const TensorFamily* family = nullptr;
};

// A hash table with room for many times the types of all libraries: by address, the next free slot after a collision.
// Read by every guard check, written under the GIL.
constexpr size_t kSlots = 256;
constinit std::array<RegisteredType, kSlots> registered_types;

// The type's slot, or the free one where it belongs.
RegisteredType& slot_of(const PyTypeObject* type) {
  size_t at = (reinterpret_cast<uintptr_t>(type) >> 4) % kSlots;
  while (registered_types[at].type != type && registered_types[at].type != nullptr) at = (at + 1) % kSlots;
  return registered_types[at];
}

std::vector<const TensorFamily*>& families() {
  static auto* all = new std::vector<const TensorFamily*>;
  return *all;
}

struct FamilyLoader {
  Ref module_name, loader;
};
std::vector<FamilyLoader>& loaders() {
  static auto* all = new std::vector<FamilyLoader>;
  return *all;
}

// Whether the library itself is there and complete: another module may stand in sys.modules under its name, this one
// first.
bool is_imported(BorrowedRef module_name) {
  PyObject* modules = PyImport_GetModuleDict();  // borrowed
  PyObject* module = PyDict_CheckExact(modules) ? PyDict_GetItemWithError(modules, module_name) : nullptr;
  if (module == nullptr || !PyModule_Check(module)) return false;
  PyObject* spec = PyDict_GetItemString(PyModule_GetDict(module), "__spec__");
  if (spec == nullptr) return false;
  auto fact = [&](const char* name) {
    Ref found = Ref::steal(PyObject_GetAttrString(spec, name));
    if (!found) PyErr_Clear();
    return found;
  };
  Ref name = fact("name");
  if (!name || !PyUnicode_Check(name) || PyUnicode_Compare(name, module_name) != 0) return false;
  return fact("_initializing").get() != Py_True;
}

}  // namespace

void add_family_loader(BorrowedRef module_name, BorrowedRef loader) {
  loaders().push_back({Ref::share(module_name), Ref::share(loader)});
}

void load_families() {
  for (size_t i = 0; i < loaders().size(); ++i) {
    if (!is_imported(loaders()[i].module_name)) continue;
    FamilyLoader found = loaders()[i];
    loaders().erase(loaders().begin() + static_cast<std::ptrdiff_t>(i));
    check(PyObject_CallOneArg(found.loader, found.module_name));
    return load_families();
  }
}

TensorSpec TensorView::spec() const {
  TensorSpec spec{dtype, {}, {}, requires_grad};
  for (int i = 0; i < rank; ++i) {
    spec.sizes.push_back(sizes[i]);
    spec.strides.push_back(strides[i]);
  }
  return spec;
}

void register_tensor_type(PyTypeObject* type, const TensorFamily& family) {
  RegisteredType& slot = slot_of(type);
  MD_ASSERT(slot.type == nullptr || slot.family == &family, type->tp_name, " is a type of two families");
  if (slot.type != nullptr) return;
  MD_ASSERT(std::ranges::count(registered_types, nullptr, &RegisteredType::type) > 1, "too many types of tensors");
  if (std::ranges::find(families(), &family) == families().end()) families().push_back(&family);
  slot = {type, &family};
}

const TensorFamily* find_family(PyTypeObject* type) { return slot_of(type).family; }

const TensorFamily* family_of_sizes(PyTypeObject* type) {
  if (type == &PyTuple_Type) return nullptr;
  for (const TensorFamily* family : families())
    if (family->size_type() == type) return family;
  return nullptr;
}

std::span<const TensorFamily* const> tensor_families() { return families(); }

const TensorFamily& default_family() {
  MD_ASSERT(!families().empty(), "no tensor family is registered");
  return *families().front();
}

bool read_view(const TensorFamily& family, PyObject* object, TensorView& view) {
  if (family.contained == nullptr) return family.read(object, view);
  const TensorImpl& impl = *family.contained(object).impl();
  if (impl.kind() == TensorKind::Real) {
    view = view_of(impl);
    return true;
  }
  view.refusal = "is not a real tensor";
  return false;
}

bool lies_at_multiple(BorrowedRef object, int64_t bytes) {
  const TensorFamily* family = object ? family_of(object) : nullptr;
  TensorView view;
  return family != nullptr && read_view(*family, object, view) &&
         reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes) == 0;
}

Tensor hold_memory(const TensorFamily& family, BorrowedRef object) {
  TensorView view;
  return family.read(object, view) ? tensor_over(object, view) : Tensor();
}

Tensor tensor_of_object(BorrowedRef object) {
  const TensorFamily* family = object ? family_of(object) : nullptr;
  return family != nullptr ? hold(*family, object) : Tensor();
}

const TensorFamily* family_of_opaque(PyObject* callable) {
  for (const TensorFamily* family : families())
    if (family->is_opaque != nullptr && family->is_opaque(callable)) return family;
  return nullptr;
}

const TensorCallable* find_tensor_callable(PyObject* callable) {
  for (const TensorFamily* family : families())
    if (const TensorCallable* known = family->find(callable)) return known;
  return nullptr;
}

}  // namespace md
