# kernel.rules becomes the NUL-terminated array stn_kernel_rules of the library. This file
# is also the script that writes it: cmake -DIN=FILE -DOUT=FILE.c -P room.cmake
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${IN}" bytes HEX)
    string(REGEX REPLACE "(................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
    file(WRITE "${OUT}" "#include \"kernel/rules/builtin.h\"\n"
        "const char stn_kernel_rules[] = {\n${bytes}\n0};\n")
    return()
endif()

set(rules_script "${CMAKE_CURRENT_LIST_DIR}/room.cmake")
set(rules_text "${CMAKE_CURRENT_LIST_DIR}/kernel.rules")
set(rules_c "${PROJECT_BINARY_DIR}/kernel_rules.c")
add_custom_command(OUTPUT "${rules_c}"
    COMMAND "${CMAKE_COMMAND}" "-DIN=${rules_text}" "-DOUT=${rules_c}" -P "${rules_script}"
    DEPENDS "${rules_text}" "${rules_script}" VERBATIM)
target_sources(stn_kernel_rules PRIVATE "${rules_c}")
