#include "symbolic/builtins/late_pure_calls.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "cpython/imports.h"
#include "cpython/text.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// Strong references, kept for the lifetime of the process.
PyTypeObject *pattern_class = nullptr, *match_class = nullptr;

// The type of `re`, not one that the program has put in its place.
PyTypeObject* type_of_re(BorrowedRef names, const char* name) {
  PyObject* found = PyDict_GetItemString(names, name);
  if (found == nullptr || !PyType_Check(found)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(found);
  bool is_its_own =
      PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) && std::string_view(type->tp_name) == std::string("re.") + name;
  return is_its_own ? reinterpret_cast<PyTypeObject*>(Py_NewRef(found)) : nullptr;
}

void add_methods_of(PyTypeObject* type, std::initializer_list<const char*> names) {
  if (type != nullptr) register_pure_attributes(reinterpret_cast<PyObject*>(type), names);
}

void add_patterns(BorrowedRef names) {
  pattern_class = type_of_re(names, "Pattern");
  match_class = type_of_re(names, "Match");
  add_methods_of(pattern_class, {"match", "fullmatch", "search", "sub", "subn", "split", "findall"});
  add_methods_of(match_class, {"group", "groups", "groupdict", "span", "start", "end", "expand", "__getitem__"});
}

struct LateModule {
  const char* name;
  const char* last_name;                         // without it the module is half initialised
  std::initializer_list<const char*> functions;  // none: all
  void (*add_methods)(BorrowedRef names);        // of its types
};

const LateModule kModules[] = {
    {"cmath", "nanj", {}, nullptr},
    {"zlib", "__version__", {"crc32", "adler32"}, nullptr},
    {"binascii",
     "Incomplete",
     {"hexlify", "unhexlify", "b2a_hex", "a2b_hex", "b2a_base64", "a2b_base64", "crc32"},
     nullptr},
    {"_struct", "error", {"calcsize", "pack", "unpack"}, nullptr},
    {"re", "Scanner", {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "escape"}, add_patterns},
    {"textwrap", "indent", {"dedent", "indent", "shorten", "fill", "wrap"}, nullptr}};

void add_functions_of(const LateModule& module, BorrowedRef names) {
  auto is_listed = [&](std::string_view name) {
    return module.functions.size() == 0 || std::ranges::find(module.functions, name) != module.functions.end();
  };
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(names, &at, &name, &value);)
    if (PyUnicode_Check(name) && is_listed(text_of(name)) && is_function_of(module.name, names, value))
      register_pure_call(value);
}

bool add_late_modules() {
  static auto* waiting = new std::vector<LateModule>(std::begin(kModules), std::end(kModules));
  std::erase_if(*waiting, [](const LateModule& module) {
    BorrowedRef names = loaded_names(module.name, module.last_name);
    if (!names) return false;
    if (module.add_methods != nullptr) module.add_methods(names);
    add_functions_of(module, names);
    return true;
  });
  return waiting->empty();
}

const LateCallRegistration call_registration(add_late_modules);

}  // namespace

PyTypeObject* pattern_type() { return pattern_class; }
PyTypeObject* match_type() { return match_class; }

}  // namespace md
