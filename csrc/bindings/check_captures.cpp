// The counters of config.check_captures.
#include "eval_frame/check_captures.h"

#include "bindings/bindings.h"

namespace py = pybind11;

namespace md {

namespace {

py::dict read_counts() {
  const CheckCounts& counts = check_counts();
  py::dict result;
  int64_t uncompared = 0;
  for (size_t i = 0; i < std::size(kUncomparedRows); ++i) {
    result[py::str(str_cat("uncompared: ", kUncomparedRows[i].name))] = counts.uncompared[i];
    uncompared += counts.uncompared[i];
  }
  result["compared"] = counts.compared;
  result["uncompared"] = uncompared;
  result["mismatches"] = counts.mismatches;
  return result;
}

py::dict read_rows() {
  py::dict rows;
  for (const UncomparedRow& row : kUncomparedRows) rows[row.name] = row.doc;
  return rows;
}

}  // namespace

void bind_check_captures(py::module_& module) {
  module.def("check_captures_counts", &read_counts);
  module.def("check_captures_rows", &read_rows);
}

}  // namespace md
