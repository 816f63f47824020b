// oneDNN's C functions, of which each is found in the library at its first call: to load the library takes
// milliseconds, which a program without convolutions, batches of products and 16-bit floats need not spend.
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <tuple>

#include "base/error.h"

namespace md {
namespace {

// Beside the file that contains this code, whatever else of that name the process has loaded.
void* open_library() {
  std::string path;
  if (Dl_info here; dladdr(reinterpret_cast<const void*>(&open_library), &here) != 0) path = here.dli_fname;
  path.resize(path.rfind('/') + 1);
  void* library = dlopen((path + MINIDYNAMO_DNNL_SONAME).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) raise(ErrorKind::Import, "oneDNN cannot be loaded: ", dlerror());
  return library;
}

void* find(const char* name) {
  static void* const library = open_library();
  void* found = dlsym(library, name);
  if (found == nullptr) raise(ErrorKind::Import, "oneDNN lacks a function: ", dlerror());
  return found;
}

template <typename Function>
struct Signature;
template <typename R, typename... P>
struct Signature<R(P...)> {
  using Result = R;
  using Parameters = std::tuple<P...>;
};
template <typename Function, size_t I>
using Parameter = std::tuple_element_t<I, typename Signature<Function>::Parameters>;

}  // namespace
}  // namespace md

// PARAMETERS_n declares n parameters of the header's types, ARGUMENTS_n names them.
#define PARAMETER(f, i) md::Parameter<decltype(f), i> p##i
#define PARAMETERS_0(f)
#define PARAMETERS_1(f) PARAMETER(f, 0)
#define PARAMETERS_2(f) PARAMETERS_1(f), PARAMETER(f, 1)
#define PARAMETERS_3(f) PARAMETERS_2(f), PARAMETER(f, 2)
#define PARAMETERS_4(f) PARAMETERS_3(f), PARAMETER(f, 3)
#define PARAMETERS_5(f) PARAMETERS_4(f), PARAMETER(f, 4)
#define PARAMETERS_6(f) PARAMETERS_5(f), PARAMETER(f, 5)
#define PARAMETERS_7(f) PARAMETERS_6(f), PARAMETER(f, 6)
#define PARAMETERS_13(f)                                                                                  \
  PARAMETERS_7(f), PARAMETER(f, 7), PARAMETER(f, 8), PARAMETER(f, 9), PARAMETER(f, 10), PARAMETER(f, 11), \
      PARAMETER(f, 12)
#define ARGUMENTS_0
#define ARGUMENTS_1 p0
#define ARGUMENTS_2 ARGUMENTS_1, p1
#define ARGUMENTS_3 ARGUMENTS_2, p2
#define ARGUMENTS_4 ARGUMENTS_3, p3
#define ARGUMENTS_5 ARGUMENTS_4, p4
#define ARGUMENTS_6 ARGUMENTS_5, p5
#define ARGUMENTS_7 ARGUMENTS_6, p6
#define ARGUMENTS_13 ARGUMENTS_7, p7, p8, p9, p10, p11, p12

#define ONEDNN_FUNCTION(count, name)                                                  \
  md::Signature<decltype(name)>::Result name(PARAMETERS_##count(name)) {              \
    static auto* const function = reinterpret_cast<decltype(&name)>(md::find(#name)); \
    return function(ARGUMENTS_##count);                                               \
  }

extern "C" {
#include "tensor/gemm/onednn_functions.def"
}
