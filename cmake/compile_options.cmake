# Flags for everything that is compiled here. -ffast-math is banned: linking with it changes the process's FPU mode.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

add_library(minidynamo_options INTERFACE)
target_compile_options(minidynamo_options INTERFACE -Wall -Wextra $<$<BOOL:${MINIDYNAMO_WERROR}>:-Werror>)
target_include_directories(minidynamo_options INTERFACE "${PROJECT_SOURCE_DIR}/csrc")
# No object depends on where the source tree or the build directory is: error texts name files within it.
target_compile_options(minidynamo_options INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
                       $<$<CXX_COMPILER_ID:GNU>:-fno-canonical-system-headers>)
if(MINIDYNAMO_SANITIZE)
  # An index past a container's end may lie within its memory.
  target_compile_definitions(minidynamo_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_compile_options(minidynamo_options INTERFACE -fsanitize=${MINIDYNAMO_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(minidynamo_options INTERFACE -fsanitize=${MINIDYNAMO_SANITIZE})
endif()

# Floating point in the core, whose files share a precompiled header and therefore these flags; loops are optimised most.
set(MINIDYNAMO_CORE_OPTIONS -fno-math-errno -fno-trapping-math)
set(MINIDYNAMO_KERNEL_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
