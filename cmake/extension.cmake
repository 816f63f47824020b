# The extension module minidynamo._C, with oneDNN beside it.
if(NOT pybind11_DIR)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
                  OUTPUT_VARIABLE pybind11_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_package(pybind11 3.0 CONFIG REQUIRED HINTS "${pybind11_hint}")

set(extension_folders cpython bytecode guards frontends snapshot symbolic eval_frame bindings)
set(extension_sources)
foreach(folder IN LISTS extension_folders)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/csrc/${folder}/*.cpp")
  list(APPEND extension_sources ${sources})
endforeach()

# One C file per supported version of CPython holds everything that needs the interpreter's internals.
set(frame_source "${PROJECT_SOURCE_DIR}/csrc/cpython/py${Python_VERSION_MAJOR}${Python_VERSION_MINOR}.c")
if(EXISTS "${frame_source}")
  list(APPEND extension_sources "${frame_source}")
endif()

pybind11_add_module(_C MODULE NO_EXTRAS ${extension_sources})
target_link_libraries(_C PRIVATE minidynamo_core)
target_compile_definitions(_C PRIVATE MINIDYNAMO_VERSION="${PROJECT_VERSION}")
set_target_properties(_C PROPERTIES INSTALL_RPATH "$ORIGIN")

install(TARGETS _C LIBRARY DESTINATION minidynamo)
install(PROGRAMS "${MINIDYNAMO_DNNL_LIBRARY}" DESTINATION minidynamo RENAME "${MINIDYNAMO_DNNL_SONAME}")
# install.strip covers targets only.
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded
  \"\${CMAKE_INSTALL_PREFIX}/minidynamo/${MINIDYNAMO_DNNL_SONAME}\" COMMAND_ERROR_IS_FATAL ANY)")

if(NOT SKBUILD)
  # A build in the source tree: PYTHONPATH=python finds the extension, which finds oneDNN as an installed one does.
  set_target_properties(_C PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${MINIDYNAMO_OUTPUT_DIR}" BUILD_WITH_INSTALL_RPATH ON)
  file(MAKE_DIRECTORY "${MINIDYNAMO_OUTPUT_DIR}")
  file(CREATE_LINK "${MINIDYNAMO_DNNL_LIBRARY}" "${MINIDYNAMO_OUTPUT_DIR}/${MINIDYNAMO_DNNL_SONAME}" SYMBOLIC)
endif()
