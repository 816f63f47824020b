#include "bindings/bindings.h"

PYBIND11_MODULE(_C, module) {
  module.attr("__version__") = MINIDYNAMO_VERSION;
}
