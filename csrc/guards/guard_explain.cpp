// Describes guards and why they failed.
#include <cctype>

#include "bytecode/bytecode.h"
#include "cpython/text.h"
#include "guards/guard_row.h"

namespace md {
namespace {

std::string describe_code(PyCodeObject* code) {
  return str_cat("<code ", text_of(code->co_qualname), " at ", text_of(code->co_filename), ":", code->co_firstlineno,
                 ">");
}

std::string describe_module(PyObject* module) {
  Ref module_name = Ref::steal(PyModule_GetNameObject(module));
  if (!module_name) PyErr_Clear();
  return "<module '" + text_of(module_name) + "'>";
}

// Elides the middle of a long text.
std::string shown(BorrowedRef constant) {
  constexpr size_t kMost = 160, kTail = 20;
  std::string text = repr_constant(constant);
  if (text.size() <= kMost) return text;
  auto starts_character = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80; };
  size_t left = kMost - kTail, right = text.size() - kTail;
  while (!starts_character(left)) --left;
  while (!starts_character(right)) ++right;
  return str_cat(text.substr(0, left), " ... ", text.substr(right));
}

// Runs no user-defined __repr__.
std::string describe(BorrowedRef object) {
  if (!object) return "<an object that is gone>";
  if (is_guardable_constant(object)) return shown(object);
  if (PyType_Check(object.get())) return reinterpret_cast<PyTypeObject*>(object.get())->tp_name;
  if (PyModule_Check(object.get())) return describe_module(object);
  if (PyCode_Check(object.get())) return describe_code(reinterpret_cast<PyCodeObject*>(object.get()));
  if (PyFunction_Check(object.get())) {
    return "<function " + text_of(reinterpret_cast<PyFunctionObject*>(object.get())->func_qualname) + ">";
  }
  if (PyCFunction_Check(object.get())) {
    return str_cat("<built-in function ", reinterpret_cast<PyCFunctionObject*>(object.get())->m_ml->ml_name, ">");
  }
  return str_cat("<", object.type()->tp_name, " object>");
}

std::string dims_text(const int64_t* dims, int rank) {
  std::string text = "(";
  for (int i = 0; i < rank; ++i)
    text += str_cat(i > 0 ? ", " : "", dims[i] == TensorExpectation::kAnyDim ? "*" : std::to_string(dims[i]));
  return text + (rank == 1 ? ",)" : ")");
}

// Replaces each whole word `symbol` in the text.
std::string with_symbol(const std::string& text, const std::string& symbol, const std::string& by) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  for (size_t at = 0; at < text.size();) {
    bool starts = text.compare(at, symbol.size(), symbol) == 0 && (at == 0 || !is_word(text[at - 1]));
    size_t end = at + symbol.size();
    if (starts && (end == text.size() || !is_word(text[end]))) {
      result += by;
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

}  // namespace

namespace guard_columns {

// ---- the condition, one per row ----

namespace {

// The type of a tensor, with its library if that is not ours.
std::string tensor_type(BorrowedRef type) {
  const TensorFamily* family = find_family(reinterpret_cast<PyTypeObject*>(type.get()));
  bool is_foreign = family != nullptr && family != &default_family();
  std::string text = describe(type);
  return is_foreign && !text.starts_with(family->name) ? str_cat(family->name, ".", text) : text;
}

}  // namespace

std::string condition_TENSOR_MATCH(const Guard& guard, const Bytecode& bytecode) {
  const TensorExpectation& tensor = guard.tensor;
  return str_cat(name(guard.source, bytecode), " is ", tensor_type(guard.object.get()), " ", row(tensor.dtype).name,
                 " size=", dims_text(tensor.dims.data(), tensor.rank),
                 " stride=", dims_text(tensor.dims.data() + tensor.rank, tensor.rank),
                 " requires_grad=", tensor.requires_grad ? "True" : "False",
                 tensor.no_dict_at != 0 ? " no attributes" : "");
}
std::string condition_TYPE_MATCH(const Guard& guard, const Bytecode& bytecode) {
  return "type(" + name(guard.source, bytecode) + ") is " + describe(guard.object.get());
}
std::string condition_EQUALS_MATCH(const Guard& guard, const Bytecode& bytecode) {
  BorrowedRef constant = guard.object.get();
  bool singleton = constant.get() == Py_None || constant.get() == Py_Ellipsis;
  return name(guard.source, bytecode) + (singleton ? " is " : " == ") + shown(constant);
}
std::string condition_ID_MATCH(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is " + describe(guard.object.get());
}
std::string condition_CODE_MATCH(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + ".__code__ is " + describe(guard.object.get());
}
std::string condition_SLOT_MATCH(const Guard& guard, const Bytecode& bytecode) {
  return str_cat(name(guard.source, bytecode), " is the slot at ", guard.length);
}
std::string condition_LENGTH(const Guard& guard, const Bytecode& bytecode) {
  return str_cat("len(", name(guard.source, bytecode), ") == ", guard.length);
}
std::string condition_DICT_KEYS(const Guard& guard, const Bytecode& bytecode) {
  std::string keys;
  for (const GuardedRef& key : guard.keys) keys += (keys.empty() ? "" : ", ") + describe(key.get());
  return "list(" + name(guard.source, bytecode) + ") == [" + keys + "]";
}
std::string condition_SET_ITEMS(const Guard& guard, const Bytecode& bytecode) {
  return condition_DICT_KEYS(guard, bytecode);
}
std::string condition_SET_TABLE(const Guard& guard, const Bytecode& bytecode) {
  return str_cat("the table of ", name(guard.source, bytecode), " has the fingerprint ", guard.length);
}
std::string condition_MRO(const Guard& guard, const Bytecode& bytecode) {
  std::string classes;
  for (const GuardedRef& each : guard.keys) classes += (classes.empty() ? "" : ", ") + describe(each.get());
  return str_cat("type.mro(", name(guard.source, bytecode), ") == [", classes, "]");
}
std::string condition_MATCH_FLAGS(const Guard& guard, const Bytecode& bytecode) {
  auto holds = [&](unsigned long flag) {
    return (static_cast<unsigned long>(guard.length) & flag) != 0 ? "match" : "do not match";
  };
  return str_cat("objects of ", name(guard.source, bytecode), " ", holds(Py_TPFLAGS_SEQUENCE),
                 " sequence patterns and ", holds(Py_TPFLAGS_MAPPING), " mapping patterns");
}
std::string condition_ABC_TOKEN(const Guard& guard, const Bytecode&) {
  return str_cat("abc.get_cache_token() == ", guard.length);
}
std::string condition_RECURSION_LIMIT(const Guard& guard, const Bytecode&) {
  return str_cat("sys.getrecursionlimit() == ", guard.length);
}
std::string condition_TEXT_STREAM(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is a plain text stream";
}
std::string condition_DICT_CONTAINS(const Guard& guard, const Bytecode& bytecode) {
  return shown(guard.object.get()) + " in " + name(guard.source, bytecode);
}
std::string condition_DICT_MISSING(const Guard& guard, const Bytecode& bytecode) {
  return shown(guard.object.get()) + " not in " + name(guard.source, bytecode);
}
std::string condition_PRESENT(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is set";
}
std::string condition_ABSENT(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is unset";
}
std::string condition_ALIAS(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is " + name(guard.other, bytecode);
}
std::string condition_NOT_ALIAS(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is not " + name(guard.other, bytecode);
}
std::string condition_NO_OVERLAP(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " shares no memory with " + name(guard.other, bytecode);
}
std::string condition_APART(const Guard& guard, const Bytecode& bytecode) {
  return str_cat(name(guard.source, bytecode), " and ", guard.length - 1,
                 " more that are written share no memory with ", guard.size->places.size(), " tensors");
}
std::string condition_WRITABLE(const Guard& guard, const Bytecode& bytecode) {
  return name(guard.source, bytecode) + " is writable";
}
std::string condition_ALIGNED(const Guard& guard, const Bytecode& bytecode) {
  return str_cat(name(guard.source, bytecode), " lies at a multiple of ", guard.length, " bytes");
}
// s0 < 4, followed by where the symbols come from: L['x'].size()[0] is s0.
std::string condition_SHAPE(const Guard& guard, const Bytecode& bytecode) {
  const SizeExpectation& size = *guard.size;
  auto named = [&](std::string text) {
    for (size_t i = 0; i < size.places.size(); ++i)
      text = with_symbol(text, size.symbols[i], name(size.places[i], bytecode));
    return text;
  };
  return str_cat(named(size.left_text), " ", relation_sign(size.relation), " ", named(size.right_text), "  (",
                 size.left_text, " ", relation_sign(size.relation), " ", size.right_text, ")");
}
std::string condition_NUMBER(const Guard& guard, const Bytecode& bytecode) {
  std::vector<std::string> places;
  for (const SizePlace& place : guard.size->places) places.push_back(name(place, bytecode));
  return str_cat(guard.number->text(places), " == ", repr_constant(guard.object.get()));
}
std::string condition_GLOBAL_STATE(const Guard& guard, const Bytecode&) {
  return guard.state.family->state_text(guard.state.words);
}

namespace {

template <typename Dims>
std::string dims_mismatch(const char* what, const int64_t* expected, const Dims& actual, int rank) {
  for (int i = 0; i < rank; ++i) {
    if (expected[i] != actual[i] && expected[i] != TensorExpectation::kAnyDim) {
      return str_cat(what, " mismatch at index ", i, ". expected ", expected[i], ", actual ", actual[i]);
    }
  }
  return "";
}

std::string tensor_mismatch(const TensorExpectation& expected, PyObject* object) {
  TensorView actual;
  if (!read_view(*expected.family, object, actual)) return actual.refusal;
  if (actual.dtype != expected.dtype) {
    return str_cat("dtype mismatch. expected ", row(expected.dtype).name, ", actual ", row(actual.dtype).name);
  }
  if (actual.rank != expected.rank) {
    return str_cat("rank mismatch. expected ", expected.rank, ", actual ", actual.rank);
  }
  if (actual.requires_grad != expected.requires_grad) {
    return str_cat("requires_grad mismatch. expected requires_grad=", expected.requires_grad);
  }
  if (actual.witness != expected.witness) return "another kind of tensor of its library";
  std::string sizes = dims_mismatch("size", expected.dims.data(), actual.sizes, expected.rank);
  if (!sizes.empty()) return sizes;
  std::string strides = dims_mismatch("stride", expected.dims.data() + expected.rank, actual.strides, expected.rank);
  return strides.empty() ? "strides do not follow from its sizes as they did at capture" : strides;
}

std::string tensor_difference(const Guard& guard, PyObject* object, const Bytecode& bytecode) {
  // A local is shown by its bare name.
  bool is_local = guard.source->kind() == SourceKind::Local && guard.source->index() < bytecode.slot_count();
  std::string who =
      is_local ? text_of(bytecode.slot_name(static_cast<int>(guard.source->index()))) : name(guard.source, bytecode);
  std::string what = "tensor '" + who + "' ";
  if (Py_TYPE(object) != guard.type()) {
    return str_cat(what, "type mismatch. expected ", describe(guard.object.get()), ", actual ",
                   Py_TYPE(object)->tp_name);
  }
  if (guard.tensor.has_dict(object)) return what + "has attributes that the program has set";
  return what + tensor_mismatch(guard.tensor, object);
}

}  // namespace

// ---- the text of a failure ----

std::string plain_failure(const Guard& guard, PyObject*, const Bytecode& bytecode, bool with_values) {
  if (with_values) return condition(guard, bytecode);
  return str_cat(guard_kind_name(guard.kind), " of ", name(guard.source, bytecode));
}

std::string whole_failure(const Guard& guard, PyObject*, const Bytecode& bytecode, bool) {
  return condition(guard, bytecode);
}

std::string tensor_failure(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values) {
  std::string text = tensor_difference(guard, object, bytecode);
  return with_values ? text : text.substr(0, text.find(". expected "));
}

std::string state_failure(const Guard& guard, PyObject*, const Bytecode&, bool) {
  const TensorFamily& family = *guard.state.family;
  return "GLOBAL_STATE changed:" + family.state_difference(guard.state.words, family.state());
}

}  // namespace guard_columns
}  // namespace md
