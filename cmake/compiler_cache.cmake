# With ccache as the launcher, an object is found again although the source tree, the environment of pip or the time at
# which the precompiled header was made is another one. What a cache has of builds without the script is not: it may have
# been made with a header of an earlier build.
foreach(language C CXX)
  if(CMAKE_${language}_COMPILER_LAUNCHER MATCHES "(^|/)ccache$")
    set(CMAKE_${language}_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=true
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        "CCACHE_EXTRAFILES=${PROJECT_SOURCE_DIR}/cmake/without_old_header.sh"
        "${PROJECT_SOURCE_DIR}/cmake/without_old_header.sh" ${CMAKE_${language}_COMPILER_LAUNCHER})
    set(compiler_cache ON)
  endif()
endforeach()

# include_through_link(TARGET): the headers of a package are included by a path in the build directory. pip builds in an
# environment whose name is another one each time.
function(include_through_link target)
  if(NOT compiler_cache)
    return()
  endif()
  get_target_property(folder ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT IS_DIRECTORY "${folder}")
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${target} name)
  set(link "${CMAKE_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include")
  file(CREATE_LINK "${folder}" "${link}" SYMBOLIC)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${link}"
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${link}")
endfunction()
