# Each tests/cpp/*_test.cpp is an executable that returns nonzero when a check fails.
file(GLOB test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/*_test.cpp")
foreach(source IN LISTS test_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/cpp")
  target_link_libraries(${name} PRIVATE minidynamo_core)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
