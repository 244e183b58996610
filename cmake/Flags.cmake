# stn_flags: what every C file of ours is compiled with. Optimisation comes from the
# build type, which the presets choose (CMakePresets.json).

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the same objects make libstandin.so and libstandin.a
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)   # for clang-tidy

# RelWithDebInfo keeps the asserts: it is what we develop and test with.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
# Nobody puts other functions in the place of ours at run time: so they may be inlined.
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG -fno-semantic-interposition")

add_library(stn_flags INTERFACE)
target_compile_options(stn_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wvla)
# Empty on purpose: a plain "#define _GNU_SOURCE" in a file is then no redefinition.
target_compile_definitions(stn_flags INTERFACE _GNU_SOURCE= STN_VERSION="${PROJECT_VERSION}")
target_include_directories(stn_flags INTERFACE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")

if(STN_WERROR)
    target_compile_options(stn_flags INTERFACE -Werror)
endif()
if(STN_NATIVE)
    target_compile_options(stn_flags INTERFACE -march=native)
endif()
if(STN_SANITIZE)
    target_compile_options(stn_flags INTERFACE
        -fsanitize=${STN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(stn_flags INTERFACE -fsanitize=${STN_SANITIZE})
    # gcc's own note: instrumented code makes its flow-based warnings unreliable. The dev
    # build has them, as errors.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_compile_options(stn_flags INTERFACE
            -Wno-format-truncation -Wno-maybe-uninitialized)
    endif()
endif()
if(STN_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "STN_FUZZ needs clang: cmake --preset fuzz")
    endif()
    target_compile_options(stn_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
