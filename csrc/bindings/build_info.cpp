#include "bindings/bindings.h"
#include "tensor/gemm/onednn_info.h"
#include "tensor/parallel/threads.h"

namespace py = pybind11;

namespace md {

void bind_build_info(py::module_& module) {
  module.attr("__version__") = MINIDYNAMO_VERSION;
  module.attr("frame_evaluation") = static_cast<bool>(MINIDYNAMO_FRAME_EVALUATION);
  module.def("build_info", [] {
    py::dict facts;
    facts["compiler"] = MINIDYNAMO_COMPILER;
    facts["build type"] = MINIDYNAMO_BUILD_TYPE;
    facts["built for Python"] = PY_VERSION;
    facts["oneDNN"] = onednn_version() + ", " + onednn_threading();
    facts["instruction set"] = onednn_instructions();
    facts["threads"] = get_num_threads();
    return facts;
  });
}

}  // namespace md
