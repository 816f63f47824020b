# Finds oneDNN and sets MINIDYNAMO_DNNL_LIBRARY (the file) and MINIDYNAMO_DNNL_SONAME (the name it is loaded by, at its first use).
# The wheel onednn-devel-cpu-gomp installs into its environment's prefix, which need not be on PATH.
if(Python_EXECUTABLE)
  get_filename_component(python_bin "${Python_EXECUTABLE}" DIRECTORY)
  get_filename_component(python_prefix "${python_bin}" DIRECTORY)
endif()
find_package(dnnl 3.2 CONFIG REQUIRED HINTS "${python_prefix}" ENV DNNL_ROOT)

get_target_property(dnnl_configurations DNNL::dnnl IMPORTED_CONFIGURATIONS)
list(GET dnnl_configurations 0 dnnl_configuration)
get_target_property(MINIDYNAMO_DNNL_LIBRARY DNNL::dnnl IMPORTED_LOCATION_${dnnl_configuration})
get_target_property(MINIDYNAMO_DNNL_SONAME DNNL::dnnl IMPORTED_SONAME_${dnnl_configuration})
if(NOT MINIDYNAMO_DNNL_LIBRARY MATCHES "\\.so" OR NOT MINIDYNAMO_DNNL_SONAME)
  message(FATAL_ERROR "oneDNN must be a shared library with a SONAME: ${MINIDYNAMO_DNNL_LIBRARY}")
endif()
include_through_link(DNNL::dnnl)
message(STATUS "oneDNN ${dnnl_VERSION}: ${MINIDYNAMO_DNNL_LIBRARY}")
