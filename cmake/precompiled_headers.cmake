# What files of a target are compiled with, once for all of them: headers from outside, and headers of ours that each of
# these files includes anyway. So a file hides no missing include behind them: tests/structure/test_precompiled_headers.py.
option(MINIDYNAMO_PRECOMPILED_HEADERS "Compile once the headers that most files include" ON)

set(standard_headers <algorithm> <array> <atomic> <bit> <cmath> <cstddef> <cstdint> <cstring> <functional> <limits> <map>
    <memory> <mutex> <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <tuple> <type_traits>
    <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(core_headers ${standard_headers})
set(extension_headers <Python.h> ${standard_headers})
set(symbolic_headers ${extension_headers} "symbolic/trace/tracer.h")
set(bindings_headers ${extension_headers} <pybind11/pybind11.h>)

# precompile(TARGET HEADER...)
function(precompile target)
  if(NOT MINIDYNAMO_PRECOMPILED_HEADERS)
    return()
  endif()
  foreach(header IN LISTS ARGN)
    if(NOT header MATCHES "^<")
      set(header "\"${header}\"")
    endif()
    string(REPLACE ">" "$<ANGLE-R>" header "${header}")
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
endfunction()
