// One init function per file of this folder; module.cpp calls each, in this order.
#pragma once
#include <pybind11/pybind11.h>

namespace md {

}  // namespace md
