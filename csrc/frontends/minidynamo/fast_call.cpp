#include "frontends/minidynamo/fast_call.h"

#include "cpython/text.h"

#include <string_view>

namespace md {
namespace {

struct Named {
  std::string_view name;
  bool optional;
  bool keyword_only;
};

std::vector<Named> parse_params(std::initializer_list<const char*> params) {
  std::vector<Named> named;
  bool keyword_only = false;
  for (std::string_view text : params) {
    if (text == "*") {
      keyword_only = true;
      continue;
    }
    bool optional = text.ends_with('?');
    if (optional) text.remove_suffix(1);
    named.push_back({text, optional, keyword_only});
  }
  return named;
}

size_t find_param(const char* function, const std::vector<Named>& params, BorrowedRef key) {
  std::string text = text_of(key);
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == text) return i;
  }
  raise(ErrorKind::Type, function, "() got an unexpected keyword argument '", text, "'");
}

}  // namespace

const char* doc_with_signature(const char* name, const char* doc, bool as_method) {
  std::string_view text = doc == nullptr ? "" : doc;
  std::string_view line = text.substr(0, text.find('\n'));
  std::string head = str_cat(name, "(");
  size_t end = line.find(") -> ");
  bool has_signature = line.starts_with(head) && end != std::string_view::npos;
  std::string params = has_signature ? std::string(line.substr(head.size(), end - head.size())) : "*args, **kwargs";
  if (as_method) params = params.empty() ? "$self" : "$self, " + params;
  return (new std::string(str_cat(head, params, ")\n--\n\n", text)))->c_str();
}

std::vector<PyObject*> read_args(const char* function, std::initializer_list<const char*> params, PyObject* const* args,
                                 Py_ssize_t arg_count, PyObject* kw_names) {
  std::vector<Named> named = parse_params(params);
  std::vector<PyObject*> values(named.size(), nullptr);
  Py_ssize_t takes = 0;
  for (const Named& param : named) takes += !param.keyword_only;
  if (arg_count > takes) {
    raise(ErrorKind::Type, function, "() takes ", takes, " positional argument", takes == 1 ? "" : "s", " but ",
          arg_count, arg_count == 1 ? " was" : " were", " given");
  }
  for (Py_ssize_t i = 0; i < arg_count; ++i) values[static_cast<size_t>(i)] = args[i];
  Py_ssize_t keywords = kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    size_t at = find_param(function, named, PyTuple_GET_ITEM(kw_names, i));
    if (values[at] != nullptr) {
      raise(ErrorKind::Type, function, "() got multiple values for argument '", named[at].name, "'");
    }
    values[at] = args[arg_count + i];
  }
  for (size_t i = 0; i < named.size(); ++i) {
    if (values[i] == nullptr && !named[i].optional) {
      raise(ErrorKind::Type, function, "() missing 1 required argument: '", named[i].name, "'");
    }
  }
  return values;
}

bool read_bool(const char* function, const char* param, BorrowedRef value, bool when_left_out) {
  if (!value) return when_left_out;
  if (PyBool_Check(value.get())) return value.get() == Py_True;
  raise(ErrorKind::Type, function, "(): argument '", param, "' must be bool, not ", value.type()->tp_name);
}

}  // namespace md
