# The extension module minidynamo._C, with oneDNN beside it.
if(NOT pybind11_DIR)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
                  OUTPUT_VARIABLE pybind11_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_package(pybind11 3.1 CONFIG REQUIRED HINTS "${pybind11_hint}")

set(extension_folders cpython bytecode guards frontends snapshot symbolic eval_frame bindings)
set(extension_sources)
foreach(folder IN LISTS extension_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/csrc/${folder}/*.cpp")
  list(APPEND extension_sources ${sources})
endforeach()

# The C files hold everything that needs the interpreter's internals, py3XX.c what differs between its versions.
# A version without one, or without a GIL, gets the package without the frame evaluator: compile() returns what it is given.
set(version_source "${PROJECT_SOURCE_DIR}/csrc/cpython/py${Python_VERSION_MAJOR}${Python_VERSION_MINOR}.c")
file(GLOB internal_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/csrc/cpython/*.c")
execute_process(COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
                OUTPUT_VARIABLE without_gil OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(version_source IN_LIST internal_sources AND NOT without_gil)
  set(supported_python ON)
else()
  set(supported_python OFF)
endif()
option(MINIDYNAMO_FRAME_EVALUATION "Build the frame evaluator" ${supported_python})
if(MINIDYNAMO_FRAME_EVALUATION)
  list(FILTER internal_sources EXCLUDE REGEX "/(py[0-9]+|thread_exit)\\.c$")
  list(APPEND extension_sources ${internal_sources} "${version_source}")
else()
  message(STATUS "No frame evaluator for this Python: compile() will return what it is given")
  file(GLOB internal_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/csrc/cpython/*.h")
  set(stand_in "${CMAKE_CURRENT_BINARY_DIR}/unsupported_python.c")
  execute_process(COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/unsupported_python.py" ${internal_headers}
                  OUTPUT_FILE "${stand_in}" COMMAND_ERROR_IS_FATAL ANY)
  set_source_files_properties("${stand_in}" PROPERTIES COMPILE_OPTIONS "-Wno-unused-parameter")
  list(APPEND extension_sources "${stand_in}")
endif()

# Only this file sees the option, so that objects of one build can be linked in another.
set_property(SOURCE "${PROJECT_SOURCE_DIR}/csrc/bindings/build_info.cpp" APPEND PROPERTY COMPILE_DEFINITIONS
             "MINIDYNAMO_FRAME_EVALUATION=$<BOOL:${MINIDYNAMO_FRAME_EVALUATION}>")

set(call_sources ${extension_sources})
list(FILTER call_sources INCLUDE REGEX "/csrc/(cpython|bytecode|guards|frontends|snapshot|eval_frame)/")
optimise_across_files(${call_sources})

# Files that share more headers are compiled as libraries of objects, each with a precompiled header of its own: rooms of
# symbolic/ (codec_calls.cpp knows no tracer), and the bindings.
set(symbolic_rooms facts sizes effects tensors attributes calls exceptions builtins opcodes exit)
list(JOIN symbolic_rooms "|" room)
set(symbolic_sources ${extension_sources})
list(FILTER symbolic_sources INCLUDE REGEX "/csrc/symbolic/(${room})/.*\\.cpp$")
list(FILTER symbolic_sources EXCLUDE REGEX "/codec_calls\\.cpp$")
# pybind11's functions, all of them inline, take four seconds of each file that includes them: these files are compiled as a
# few, and others are not compiled with that precompiled header.
set(bindings_sources)
foreach(source IN LISTS extension_sources)
  if(source MATCHES "/csrc/bindings/.*\\.cpp$" AND NOT source MATCHES "/build_info\\.cpp$")
    file(STRINGS "${source}" uses REGEX "\"bindings/bindings\\.h\"|<pybind11/")
    if(uses)
      list(APPEND bindings_sources "${source}")
    endif()
  endif()
endforeach()
set(object_libraries symbolic bindings)

if(MINIDYNAMO_EXTENSION_DIR)
  # All objects of C++ files but build_info.
  list(FILTER extension_sources EXCLUDE REGEX "/csrc/.*\\.cpp$")
  list(APPEND extension_sources "${PROJECT_SOURCE_DIR}/csrc/bindings/build_info.cpp")
  foreach(target IN ITEMS _C ${object_libraries})
    file(GLOB_RECURSE objects "${MINIDYNAMO_EXTENSION_DIR}/CMakeFiles/${target}.dir/*${CMAKE_CXX_OUTPUT_EXTENSION}")
    list(FILTER objects EXCLUDE REGEX "/build_info\\.cpp|\\.c${CMAKE_C_OUTPUT_EXTENSION}$|/cmake_pch")
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON)
    list(APPEND extension_sources ${objects})
  endforeach()
  set(object_libraries)
endif()

include_through_link(pybind11::headers)
# The C interface for extensions that users compile is installed with the package.
set(interface_folder "${PROJECT_SOURCE_DIR}/python/minidynamo/include")
foreach(library IN LISTS object_libraries)
  list(REMOVE_ITEM extension_sources ${${library}_sources})
  add_library(${library} OBJECT ${${library}_sources})
  target_link_libraries(${library} PRIVATE pybind11::module minidynamo_core)
  target_include_directories(${library} PRIVATE "${interface_folder}")
  precompile(${library} ${${library}_headers})
  list(APPEND extension_sources $<TARGET_OBJECTS:${library}>)
endforeach()
if(TARGET bindings AND MINIDYNAMO_PRECOMPILED_HEADERS)
  set_target_properties(bindings PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endif()

# Unwinding goes through thread_exit.c first. Only the linker knows who refers to it: it stays a file of its own.
list(APPEND extension_sources "${PROJECT_SOURCE_DIR}/csrc/cpython/thread_exit.c")

pybind11_add_module(_C MODULE NO_EXTRAS ${extension_sources})
if(object_libraries)
  precompile(_C ${extension_headers})
endif()
target_link_options(_C PRIVATE "LINKER:--wrap=__gxx_personality_v0")
target_link_libraries(_C PRIVATE minidynamo_core)
target_include_directories(_C PRIVATE "${interface_folder}")
set_property(SOURCE "${PROJECT_SOURCE_DIR}/csrc/bindings/build_info.cpp" APPEND PROPERTY COMPILE_DEFINITIONS
  "MINIDYNAMO_VERSION=\"${PROJECT_VERSION}\";MINIDYNAMO_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";MINIDYNAMO_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\"")

install(TARGETS _C LIBRARY DESTINATION minidynamo)
install(PROGRAMS "${MINIDYNAMO_DNNL_LIBRARY}" DESTINATION minidynamo RENAME "${MINIDYNAMO_DNNL_SONAME}")
# install.strip covers targets only.
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded
  \"\${CMAKE_INSTALL_PREFIX}/minidynamo/${MINIDYNAMO_DNNL_SONAME}\" COMMAND_ERROR_IS_FATAL ANY)")

if(NOT SKBUILD)
  # A build without pip: with PYTHONPATH=python the extension is found, and it finds oneDNN as an installed one does.
  set_target_properties(_C PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${MINIDYNAMO_OUTPUT_DIR}")
  file(MAKE_DIRECTORY "${MINIDYNAMO_OUTPUT_DIR}")
  file(CREATE_LINK "${MINIDYNAMO_DNNL_LIBRARY}" "${MINIDYNAMO_OUTPUT_DIR}/${MINIDYNAMO_DNNL_SONAME}" SYMBOLIC)
  set(python_folder "${PROJECT_SOURCE_DIR}/python/minidynamo")
  if(NOT MINIDYNAMO_OUTPUT_DIR STREQUAL python_folder)
    file(GLOB python_entries CONFIGURE_DEPENDS RELATIVE "${python_folder}" "${python_folder}/*")
    list(FILTER python_entries EXCLUDE REGEX "\\.so|__pycache__")
    foreach(entry IN LISTS python_entries)
      file(CREATE_LINK "${python_folder}/${entry}" "${MINIDYNAMO_OUTPUT_DIR}/${entry}" SYMBOLIC)
    endforeach()
  endif()
endif()
