# llama.cpp, the live LLM engine: an installed one (its pkg-config file or CMake package), else
# what scripts/engine.sh has fetched into build/engine. Only its headers are needed here; the
# library is loaded at run time. Without it everything builds, and what needs it says so.

set(STN_ENGINE_DIR "${PROJECT_SOURCE_DIR}/build/engine")
set(STN_LLAMA_INCLUDE "")
set(STN_LLAMA_LIB "")
set(STN_LLAMA_VERSION "")

pkg_check_modules(STN_LLAMA_PC QUIET llama)
if(STN_LLAMA_PC_FOUND)
    set(STN_LLAMA_INCLUDE "${STN_LLAMA_PC_INCLUDEDIR}")
    set(STN_LLAMA_LIB "${STN_LLAMA_PC_LIBDIR}")
    set(STN_LLAMA_VERSION "${STN_LLAMA_PC_VERSION}")
else()
    find_package(llama CONFIG QUIET)
    if(llama_FOUND)
        set(STN_LLAMA_INCLUDE "${LLAMA_INCLUDE_DIR}")
        set(STN_LLAMA_LIB "${LLAMA_LIB_DIR}")
        set(STN_LLAMA_VERSION "${LLAMA_VERSION}")
    elseif(EXISTS "${STN_ENGINE_DIR}/VERSION")
        set(STN_LLAMA_INCLUDE "${STN_ENGINE_DIR}/include")
        set(STN_LLAMA_LIB "${STN_ENGINE_DIR}/lib")
        file(STRINGS "${STN_ENGINE_DIR}/VERSION" STN_LLAMA_VERSION LIMIT_COUNT 1)
    endif()
endif()

if(EXISTS "${STN_LLAMA_INCLUDE}/llama.h")
    message(STATUS "llama.cpp ${STN_LLAMA_VERSION}: ${STN_LLAMA_LIB}")
    set_source_files_properties("${PROJECT_SOURCE_DIR}/src/llm/engine/llama.c" PROPERTIES
        COMPILE_OPTIONS "-isystem${STN_LLAMA_INCLUDE}"
        COMPILE_DEFINITIONS
        "STN_HAVE_LLAMA;STN_LLAMA_LIBDIR=\"${STN_LLAMA_LIB}\";STN_LLAMA_VERSION=\"${STN_LLAMA_VERSION}\"")
    set_source_files_properties("${PROJECT_SOURCE_DIR}/src/llm/engine/capture.c" PROPERTIES
        COMPILE_DEFINITIONS "STN_LIBDIR=\"${CMAKE_INSTALL_LIBDIR}\"")
    # Stands in front of ggml in other programs: without sanitizers, and with nothing of ours.
    add_library(standin_ggml SHARED "${PROJECT_SOURCE_DIR}/src/llm/engine/shim/ggml.c")
    set_target_properties(standin_ggml PROPERTIES OUTPUT_NAME standin-ggml)
    target_compile_definitions(standin_ggml PRIVATE _GNU_SOURCE= STN_HAVE_LLAMA)
    target_compile_options(standin_ggml PRIVATE
        "-isystem${STN_LLAMA_INCLUDE}" -Wall -Wextra -Wpedantic $<$<BOOL:${STN_WERROR}>:-Werror>)
    target_include_directories(standin_ggml PRIVATE "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(standin_ggml PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
    if(STN_SANITIZE)
        # The sanitizers look for C++ exceptions' functions when the program starts, before
        # llama.cpp brings them.
        target_link_options(stn_deps INTERFACE -Wl,--no-as-needed -lstdc++ -Wl,--as-needed)
    endif()
else()
    message(STATUS "llama.cpp is not there: what needs it will say so")
endif()
