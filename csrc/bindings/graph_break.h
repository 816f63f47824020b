// Graph breaks and positions in the user's code as Python objects. Requires the GIL.
#pragma once
#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "symbolic/breaks/graph_break.h"

namespace md {

using FrameTuple = std::tuple<std::string, int, std::string>;  // file, line, function

std::vector<FrameTuple> frames_of(std::span<const SourceLine> lines);
pybind11::dict break_facts(const GraphBreak& graph_break);

}  // namespace md
