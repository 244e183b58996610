# bench/*.c: one program each, linked with the library, for the benchmark of the same name.
if(TARGET standin_static)
    file(GLOB benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
    foreach(source IN LISTS benches)
        get_filename_component(name "${source}" NAME_WE)
        add_executable(bench_${name} "${source}")
        target_link_libraries(bench_${name} PRIVATE stn_flags standin_static)
        set_target_properties(bench_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
    endforeach()
endif()
