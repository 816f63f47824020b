# Each tests/cpp/*_test.cpp is an executable that returns nonzero when a check fails; its arguments are in test_main.cpp.
file(GLOB test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/*_test.cpp")
foreach(source IN LISTS test_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}" "${PROJECT_SOURCE_DIR}/tests/cpp/test_main.cpp")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/cpp")
  target_link_libraries(${name} PRIVATE minidynamo_core)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
# oneDNN is loaded from beside the executable.
file(CREATE_LINK "${MINIDYNAMO_DNNL_LIBRARY}" "${CMAKE_CURRENT_BINARY_DIR}/${MINIDYNAMO_DNNL_SONAME}" SYMBOLIC)
