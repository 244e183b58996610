# tests/unit/test_*.c   one cmocka program each, linked with the whole library
# tests/fuzz/fuzz_*.c   the corpus replays in the ordinary run; libFuzzer with the preset fuzz
# tests/golden          exact output of the program, see scripts/golden.sh
# Names are found by looking, so a new test needs no line here.

pkg_check_modules(STN_CMOCKA REQUIRED IMPORTED_TARGET cmocka)

add_library(stn_test_flags INTERFACE)
target_link_libraries(stn_test_flags INTERFACE stn_flags)
foreach(library IN ITEMS standin_app standin_static)
    if(TARGET ${library})
        target_link_libraries(stn_test_flags INTERFACE ${library})
    endif()
endforeach()
target_compile_definitions(stn_test_flags INTERFACE
    STN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    STN_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")

set(STN_TEST_ENV
    "ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "OMP_WAIT_POLICY=passive"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")

function(stn_add_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES
        LABELS ${label} TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT "${STN_TEST_ENV}")
endfunction()

if(TARGET standin_static)
    file(GLOB units CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/test_*.c")
    foreach(source IN LISTS units)
        get_filename_component(name "${source}" NAME_WE)
        add_executable(${name} "${source}")
        target_link_libraries(${name} PRIVATE stn_test_flags PkgConfig::STN_CMOCKA)
        set_target_properties(${name} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        stn_add_test(${name} unit ${name})
    endforeach()

    file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c")
    foreach(source IN LISTS fuzzers)
        get_filename_component(name "${source}" NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" corpus "${name}")
        set(target replay_${corpus})
        add_executable(${target} "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c")
        target_link_libraries(${target} PRIVATE stn_test_flags)
        set_target_properties(${target} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        stn_add_test(${target} fuzz ${target}
            "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${corpus}")
        if(STN_FUZZ)
            add_executable(${name} "${source}")
            target_link_libraries(${name} PRIVATE stn_test_flags)
            target_link_options(${name} PRIVATE -fsanitize=fuzzer)
            set_target_properties(${name} PROPERTIES
                RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        endif()
    endforeach()
endif()

# Shell tests of our own scripts.
file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/test_*.sh")
foreach(source IN LISTS scripts)
    get_filename_component(name "${source}" NAME_WE)
    stn_add_test(${name} script sh "${source}")
endforeach()

if(TARGET standin)
    file(GLOB goldens CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/golden/*.cmd")
    foreach(golden IN LISTS goldens)
        get_filename_component(name "${golden}" NAME_WE)
        stn_add_test(golden_${name} golden
            sh "${PROJECT_SOURCE_DIR}/scripts/golden.sh" $<TARGET_FILE:standin> "${golden}")
    endforeach()
endif()
