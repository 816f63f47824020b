#include "symbolic/builtins/codec_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "cpython/text.h"

namespace md {
namespace {

enum class Codec { Utf8, Utf16, Utf32, Ascii, Latin1 };

// Codecs implemented without a registry look-up, by normalised name: lower case, one '_' per run of other characters.
struct CodecRow {
  std::string_view name;
  Codec codec;
};
constexpr CodecRow kCodecs[] = {
    {"utf8", Codec::Utf8},     {"utf_8", Codec::Utf8},     {"utf16", Codec::Utf16},       {"utf_16", Codec::Utf16},
    {"utf32", Codec::Utf32},   {"utf_32", Codec::Utf32},   {"ascii", Codec::Ascii},       {"us_ascii", Codec::Ascii},
    {"latin1", Codec::Latin1}, {"latin_1", Codec::Latin1}, {"iso_8859_1", Codec::Latin1}, {"iso8859_1", Codec::Latin1}};

// Error handlers that some codecs implement themselves, although the registry has one of the same name.
struct HandlerRow {
  std::string_view name;
  bool in_narrow_encoders;  // ascii, latin-1
  bool in_utf8_encoder;
  bool in_decoders;  // ascii, utf-8
};
constexpr HandlerRow kHandlers[] = {{"strict", true, false, false},          {"ignore", true, true, true},
                                    {"replace", true, true, true},           {"surrogateescape", false, false, true},
                                    {"backslashreplace", true, true, false}, {"xmlcharrefreplace", true, true, false},
                                    {"surrogatepass", false, true, false}};

std::string normalized(std::string_view name) {
  std::string text;
  bool gap = false;
  for (char letter : name) {
    bool is_kept = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                   (letter >= '0' && letter <= '9') || letter == '.';
    if (is_kept && gap && !text.empty()) text += '_';
    if (is_kept) text += static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    gap = !is_kept;
  }
  return text;
}

std::optional<Codec> codec_named(BorrowedRef name) {
  if (!name) return Codec::Utf8;
  std::string text = normalized(text_of(name));
  const auto* row = std::ranges::find(kCodecs, std::string_view(text), &CodecRow::name);
  return row == std::end(kCodecs) ? std::nullopt : std::optional<Codec>(row->codec);
}

template <typename Test>
bool any_letter(BorrowedRef text, const Test& test) {
  int kind = PyUnicode_KIND(text.get());
  const void* data = PyUnicode_DATA(text.get());
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text.get()); ++i)
    if (test(PyUnicode_READ(kind, data, i))) return true;
  return false;
}

bool has_surrogates(BorrowedRef text) {
  return any_letter(text, [](Py_UCS4 letter) { return Py_UNICODE_IS_SURROGATE(letter); });
}

// Returns true if encoding this text calls the registered handler.
bool asks_handler(Codec codec, const HandlerRow& handler, BorrowedRef text) {
  Py_UCS4 largest = PyUnicode_MAX_CHAR_VALUE(text.get());
  switch (codec) {
    case Codec::Ascii:
      return largest > 0x7f && !handler.in_narrow_encoders;
    case Codec::Latin1:
      return largest > 0xff && !handler.in_narrow_encoders;
    case Codec::Utf8:
      return has_surrogates(text) && !handler.in_utf8_encoder;
    case Codec::Utf16:
    case Codec::Utf32:
      return has_surrogates(text);
  }
  return true;
}

bool is_utf8(const char* data, Py_ssize_t size) {
  // surrogateescape is implemented by the decoder itself; only invalid bytes become surrogates.
  Ref text = check(PyUnicode_DecodeUTF8(data, size, "surrogateescape"));
  return !has_surrogates(text);
}

// Likewise for decoding these bytes.
bool asks_decoders_handler(Codec codec, const HandlerRow& handler, BorrowedRef bytes) {
  const char* data = PyBytes_AS_STRING(bytes.get());
  Py_ssize_t size = PyBytes_GET_SIZE(bytes.get());
  switch (codec) {
    case Codec::Latin1:
      return false;
    case Codec::Ascii:
      return !handler.in_decoders && std::any_of(data, data + size, [](char byte) { return (byte & 0x80) != 0; });
    case Codec::Utf8:
      return !handler.in_decoders && !is_utf8(data, size);
    case Codec::Utf16:
    case Codec::Utf32:
      return true;
  }
  return true;
}

struct Conversion {
  BorrowedRef value, encoding, errors;  // null: not given
};

// Nullopt: the call does not convert, or raises for an argument before it does.
std::optional<Conversion> conversion_of(BorrowedRef callable, const std::vector<Ref>& args, BorrowedRef names) {
  static PyObject* const kConverters[] = {
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "encode")).release(),
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBytes_Type), "decode")).release(),
      reinterpret_cast<PyObject*>(&PyUnicode_Type), reinterpret_cast<PyObject*>(&PyBytes_Type)};
  const auto* found = std::ranges::find(kConverters, callable.get());
  if (found == std::end(kConverters) || args.empty()) return std::nullopt;
  bool is_type = PyType_Check(callable.get());
  std::array<BorrowedRef, 3> given;
  Py_ssize_t named = PyTuple_GET_SIZE(names.get()), positional = static_cast<Py_ssize_t>(args.size()) - named;
  if (positional > 3) return std::nullopt;
  for (Py_ssize_t i = 0; i < positional; ++i) given[static_cast<size_t>(i)] = args[static_cast<size_t>(i)].get();
  for (Py_ssize_t i = 0; i < named; ++i) {
    std::string name = text_of(PyTuple_GET_ITEM(names.get(), i));
    given[name == "encoding" ? 1 : name == "errors" ? 2 : 0] = args[static_cast<size_t>(positional + i)].get();
  }
  // str(x) and bytes(x) do not convert.
  if (is_type && !given[1] && !given[2]) return std::nullopt;
  bool is_known = given[0] && (PyUnicode_CheckExact(given[0].get()) || PyBytes_CheckExact(given[0].get()));
  bool are_texts =
      (!given[1] || PyUnicode_CheckExact(given[1].get())) && (!given[2] || PyUnicode_CheckExact(given[2].get()));
  if (!is_known || !are_texts) return std::nullopt;
  return Conversion{given[0], given[1], given[2]};
}

}  // namespace

bool looks_for_codec(BorrowedRef callable, const std::vector<Ref>& args, BorrowedRef keyword_names) {
  std::optional<Conversion> call = conversion_of(callable, args, keyword_names);
  if (!call) return false;
  std::optional<Codec> codec = codec_named(call->encoding);
  std::string name = call->errors ? text_of(call->errors) : "strict";
  const auto* handler = std::ranges::find(kHandlers, std::string_view(name), &HandlerRow::name);
  if (!codec || handler == std::end(kHandlers)) return true;
  return PyUnicode_CheckExact(call->value.get()) ? asks_handler(*codec, *handler, call->value)
                                                 : asks_decoders_handler(*codec, *handler, call->value);
}

}  // namespace md
