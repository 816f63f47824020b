#include "symbolic/facts/text_templates.h"

#include <algorithm>

#include "cpython/imports.h"
#include "cpython/text.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/texts.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// A field of a template, or literal text.
struct Piece {
  Ref literal;     // null: a field
  ValuePtr value;  // of the field
  int conversion = 0;
  Ref spec;     // of format(); null if there is none
  Ref percent;  // the %-format applied to the text, or to the value if conversion is 0; null: the text itself
};
using Pieces = std::vector<Piece>;

// Returns true if the text of the value, or of a part of it, is known only by calling a method.
bool asks_methods(Tracer& tracer, const ValuePtr& value) {
  if (is_tensor(value) || is_dynamic(value)) return false;
  if (value->kind == ValueKind::Number || value->kind == ValueKind::Constructed) return false;
  return has_user_type(value) || !constant_of(tracer, value);
}

Ref joined(Tracer& tracer, const Pieces& pieces) {
  Ref texts = check(PyTuple_New(static_cast<Py_ssize_t>(pieces.size())));
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    bool is_raw = piece.percent && piece.conversion == 0;
    Ref text = piece.literal ? piece.literal
               : is_raw
                   ? constant_of(tracer, plain_or_itself(tracer, piece.value, {"__int__", "__index__", "__float__"}))
                   : formatted_text(tracer, piece.value, piece.conversion, piece.spec.get());
    if (!text) graph_break(BreakReason::unknown_format, describe(piece.value));
    if (piece.percent) {
      text = Ref::steal(PyUnicode_Format(piece.percent, check(PyTuple_Pack(1, text.get()))));
      if (!text) raise_here();
    }
    PyTuple_SET_ITEM(texts.get(), i, text.release());
  }
  static PyObject* const empty = PyUnicode_InternFromString("");
  return check(PyUnicode_Join(empty, texts));
}

bool has_letter(BorrowedRef text, Py_UCS4 letter) {
  return PyUnicode_FindChar(text, letter, 0, PyUnicode_GET_LENGTH(text.get()), 1) >= 0;
}

// The argument that a field of str.format refers to, by number, by name or by position. Null if it uses attributes or
// items, or there is no such argument.
const ValuePtr* argument_named(const CallArgs& args, BorrowedRef field, int& turn) {
  if (has_letter(field, '.') || has_letter(field, '[')) return nullptr;
  bool is_number = PyUnicode_GET_LENGTH(field.get()) != 0 &&
                   std::ranges::all_of(text_of(field), [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (!is_number && PyUnicode_GET_LENGTH(field.get()) != 0) return args.keyword(text_of(field).c_str());
  // Explicit numbers and automatic positions cannot be mixed.
  if ((turn > 0 && is_number) || (turn < 0 && !is_number)) return nullptr;
  size_t at = 0;
  if (is_number) {
    if (PyUnicode_GET_LENGTH(field.get()) > 3) return nullptr;
    at = static_cast<size_t>(std::stoi(text_of(field)));
    turn = -1;
  } else {
    at = static_cast<size_t>(turn++);
  }
  // The first positional argument is the template.
  return at + 1 < args.positional.size() ? &args.positional[at + 1] : nullptr;
}

bool parse_braces(BorrowedRef text, const CallArgs& args, Pieces& pieces) {
  static PyObject* const kParse = imported("_string", "formatter_parser").release();
  Ref fields = check(PyObject_CallOneArg(kParse, text));
  int turn = 0;
  while (Ref field = Ref::steal(PyIter_Next(fields))) {
    PyObject *literal = PyTuple_GET_ITEM(field.get(), 0), *name = PyTuple_GET_ITEM(field.get(), 1);
    PyObject *spec = PyTuple_GET_ITEM(field.get(), 2), *conversion = PyTuple_GET_ITEM(field.get(), 3);
    pieces.push_back({Ref::share(literal), nullptr, 0, nullptr, nullptr});
    if (name == Py_None) continue;
    const ValuePtr* value = argument_named(args, name, turn);
    if (value == nullptr || (spec != Py_None && has_letter(spec, '{'))) return false;
    int number = 0;
    if (conversion != Py_None) {
      Py_UCS4 letter = PyUnicode_READ_CHAR(conversion, 0);
      if (letter != 's' && letter != 'r') return false;
      number = letter == 's' ? 1 : 2;
    }
    bool has_spec = spec != Py_None && PyUnicode_GET_LENGTH(spec) != 0;
    pieces.push_back({nullptr, *value, number, has_spec ? Ref::share(spec) : Ref(), nullptr});
  }
  bool failed = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  return !failed;
}

// Flags, width, precision and letter of a % field; empty if it has another form.
std::string percent_field(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && std::string("-+ #0").find(text[end]) != std::string::npos) ++end;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - at < 8) ++end;
  if (end < text.size() && text[end] == '.') ++end;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - at < 8) ++end;
  bool is_known = end < text.size() && std::string("srdiufFeEgGxXoc").find(text[end]) != std::string::npos;
  return is_known ? text.substr(at, end + 1 - at) : "";
}

bool parse_percents(const std::string& text, const std::vector<ValuePtr>& values, Pieces& pieces) {
  size_t at = 0, taken = 0;
  while (at < text.size()) {
    size_t sign = std::min(text.find('%', at), text.size());
    std::string literal = text.substr(at, sign - at);
    at = sign + 1;
    bool is_sign = at < text.size() && text[at] == '%';
    if (is_sign) literal += "%";
    pieces.push_back({check(PyUnicode_FromStringAndSize(literal.data(), static_cast<Py_ssize_t>(literal.size()))),
                      nullptr, 0, nullptr, nullptr});
    at += is_sign ? 1 : 0;
    if (is_sign || sign == text.size()) continue;
    std::string field = percent_field(text, at);
    if (field.empty() || taken == values.size()) return false;
    at += field.size();
    char letter = field.back();
    Piece piece{nullptr, values[taken++], letter == 's' ? 1 : letter == 'r' ? 2 : 0, nullptr, nullptr};
    if (letter == 'r') field.back() = 's';
    if (field != "s") piece.percent = check(PyUnicode_FromString(("%" + field).c_str()));
    pieces.push_back(std::move(piece));
  }
  return taken == values.size();
}

}  // namespace

Ref filled_braces(Tracer& tracer, const CallArgs& args) {
  auto* text = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  if (text == nullptr || !PyUnicode_CheckExact(text->object.get()) || is_dynamic(args.positional[0])) return nullptr;
  bool asks = false;
  for (size_t i = 1; i < args.positional.size(); ++i) asks = asks || asks_methods(tracer, args.positional[i]);
  for (const auto& [name, value] : args.keywords) asks = asks || asks_methods(tracer, value);
  Pieces pieces;
  if (!asks || !parse_braces(constant_of(tracer, args.positional[0]).get(), args, pieces)) return nullptr;
  return joined(tracer, pieces);
}

Ref filled_percents(Tracer& tracer, const ValuePtr& text, const ValuePtr& right) {
  auto* known = as<ObjectValue>(text);
  if (known == nullptr || !PyUnicode_CheckExact(known->object.get()) || is_dynamic(text)) return nullptr;
  std::vector<ValuePtr> values{right};
  PyTypeObject* type = type_of(right);
  if (type == nullptr || is_tensor(right)) return nullptr;
  if (type == &PyTuple_Type) {
    auto elements = elements_of(tracer, right);
    if (!elements) return nullptr;
    values = std::move(*elements);
  } else if (PyType_IsSubtype(type, &PyTuple_Type)) {
    return nullptr;
  } else if (PyType_IsSubtype(type, &PyUnicode_Type) && type != &PyUnicode_Type &&
             !inherits(tracer, right, &PyUnicode_Type, {"__mod__", "__rmod__"})) {
    return nullptr;
  }
  if (std::ranges::none_of(values, [&](const ValuePtr& value) { return asks_methods(tracer, value); })) return nullptr;
  Pieces pieces;
  if (!parse_percents(text_of(constant_of(tracer, text)), values, pieces)) return nullptr;
  return joined(tracer, pieces);
}

}  // namespace md
