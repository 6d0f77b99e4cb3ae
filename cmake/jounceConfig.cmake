# jounce::headers  the recursions as C++20 templates, to be compiled for any scalar
# jounce::jounce   the compiled kernels behind <jounce/jounce.h>, for C and C++
#
# JOUNCE_ISA chooses among the instruction sets that are installed (generic, v2, v3, v4, native); by
# default the one that runs on most machines. Packs are read as doubles and back, hence no aliasing
# rules for who compiles the templates.
get_filename_component(_jounce_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

if(NOT TARGET jounce::headers)
  add_library(jounce::headers INTERFACE IMPORTED)
  set_target_properties(jounce::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_jounce_root}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-fno-strict-aliasing>")
endif()

if(JOUNCE_ISA)
  set(_jounce_isas ${JOUNCE_ISA})
else()
  set(_jounce_isas generic v2 native v3 v4)
endif()
foreach(_jounce_isa IN LISTS _jounce_isas)
  file(GLOB _jounce_library "${_jounce_root}/_core/*jounce_${_jounce_isa}.*")
  list(FILTER _jounce_library INCLUDE REGEX "\\.(so|dylib|dll)$")
  if(_jounce_library)
    break()
  endif()
endforeach()
if(NOT _jounce_library)
  set(jounce_FOUND FALSE)
  set(jounce_NOT_FOUND_MESSAGE "no kernels for ${_jounce_isas} in ${_jounce_root}/_core")
elseif(NOT TARGET jounce::jounce)
  add_library(jounce::jounce SHARED IMPORTED)
  set_target_properties(jounce::jounce PROPERTIES
    IMPORTED_LOCATION "${_jounce_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${_jounce_root}/include")
  if(_jounce_isa STREQUAL "v4")  # it has kernels from there
    file(GLOB _jounce_narrower "${_jounce_root}/_core/libjounce_v3.*")
    set_target_properties(jounce::jounce PROPERTIES IMPORTED_LINK_DEPENDENT_LIBRARIES "${_jounce_narrower}")
  endif()
endif()
