#include "cpython/imports.h"

#include <string>
#include <unordered_map>

#include "base/error.h"
#include "cpython/text.h"

namespace md {
namespace {

// Modules of the standard library that capture needs. All are imported with minidynamo; most are loaded before it.
constexpr const char* kLibraryModules[] = {
    "_abc",  "_bisect",  "_collections", "_collections_abc", "_io",  "_string",   "_thread", "_typing", "_warnings",
    "abc",   "builtins", "codecs",       "collections",      "enum", "functools", "keyword", "math",    "operator",
    "posix", "sys",      "types",        "warnings"};

// Owns its references for the lifetime of the process.
std::unordered_map<std::string, Ref>& names_of_library() {
  static auto* names = new std::unordered_map<std::string, Ref>();
  return *names;
}
std::unordered_map<std::string, Ref>& own_modules() {
  static auto* modules = new std::unordered_map<std::string, Ref>();
  return *modules;
}

Ref of_own_module(const char* module, const char* name) {
  auto found = own_modules().find(module);
  Ref loaded = found != own_modules().end() ? found->second
                                            : Ref::steal(PyImport_GetModule(check(PyUnicode_FromString(module))));
  if (!loaded && PyErr_Occurred() == nullptr) PyErr_Format(PyExc_ImportError, "%s is not loaded", module);
  return loaded ? Ref::steal(PyObject_GetAttrString(loaded, name)) : Ref();
}

}  // namespace

BorrowedRef imported_names(const char* module) {
  auto found = names_of_library().find(module);
  MD_ASSERT(found != names_of_library().end(), "a module that was not imported with minidynamo");
  return found->second;
}

Ref imported_if_there(const char* module, const char* name) {
  return Ref::share(PyDict_GetItemString(imported_names(module), name));
}

Ref imported(const char* module, const char* name) {
  if (!names_of_library().contains(module)) return check(of_own_module(module, name).release());
  Ref found = imported_if_there(module, name);
  if (!found) {
    PyErr_Format(PyExc_ImportError, "the module %s has no %s", module, name);
    throw PythonError();
  }
  return found;
}

BorrowedRef loaded_names(const char* module, const char* last_name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* loaded = PyDict_Check(modules) ? PyDict_GetItemString(modules, module) : nullptr;
  if (loaded == nullptr || !PyModule_Check(loaded)) return nullptr;
  PyObject* names = PyModule_GetDict(loaded);
  return PyDict_GetItemString(names, last_name) != nullptr ? names : nullptr;
}

bool is_function_of(const char* module, BorrowedRef names, BorrowedRef function) {
  if (PyFunction_Check(function.get())) return PyFunction_GET_GLOBALS(function.get()) == names.get();
  if (!PyCFunction_CheckExact(function.get())) return false;
  PyObject* owner = reinterpret_cast<PyCFunctionObject*>(function.get())->m_module;
  return owner != nullptr && PyUnicode_Check(owner) && PyUnicode_CompareWithASCIIString(owner, module) == 0;
}

void import_library_modules() {
  for (const char* name : kLibraryModules) {
    Ref module = check(PyImport_ImportModule(name));
    Ref dict = check(PyObject_GetAttrString(module, "__dict__"));
    names_of_library()[name] = check(PyDict_Copy(dict));
  }
}

void hold_own_module(BorrowedRef module) {
  Ref name = check(PyModule_GetNameObject(module));
  own_modules()[std::string(text_of(name.get()))] = Ref::share(module);
}

}  // namespace md
