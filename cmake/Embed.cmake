# Compile files into the library or the program.
#   stn_embed(sources HEADER app/assets.h FILES report.js …)
# appends a generated C file for each to the variable: report.js becomes the array
# stn_asset_report_js (unsigned char) and stn_asset_report_js_size.
#   stn_embed(sources HEADER kernel/rules/builtin.h TEXT NAME stn_kernel_rules FILES kernel.rules)
# makes one NUL-terminated array of char with that name. HEADER declares what is made.
# The same file is the script that writes them: cmake -DIN=… -DOUT=… … -P Embed.cmake

if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${IN}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    set(text "#include \"${HEADER}\"\n")
    if(TEXT)
        string(APPEND text "const char ${NAME}[] = {\n${hex}\n0};\n")
    else()
        string(APPEND text "const unsigned char ${NAME}[] = {\n${hex}\n};\n"
            "const size_t ${NAME}_size = sizeof ${NAME};\n")
    endif()
    file(WRITE "${OUT}" "${text}")
    return()
endif()

set(STN_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(stn_embed out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TEXT" "HEADER;NAME" "FILES")
    foreach(file IN LISTS arg_FILES)
        get_filename_component(base "${file}" NAME)
        string(MAKE_C_IDENTIFIER "stn_asset_${base}" name)
        if(arg_NAME)
            set(name "${arg_NAME}")
        endif()
        set(source "${PROJECT_BINARY_DIR}/embedded/${name}.c")
        add_custom_command(OUTPUT "${source}"
            COMMAND ${CMAKE_COMMAND} "-DIN=${file}" "-DOUT=${source}" "-DNAME=${name}"
                "-DHEADER=${arg_HEADER}" "-DTEXT=${arg_TEXT}" -P "${STN_EMBED_SCRIPT}"
            DEPENDS "${file}" "${STN_EMBED_SCRIPT}" VERBATIM)
        list(APPEND ${out} "${source}")
    endforeach()
    set(${out} "${${out}}" PARENT_SCOPE)
endfunction()
