# Compile a file into the program: report.js becomes the array stn_asset_report_js and its
# size stn_asset_report_js_size (declared in src/app/assets.h).
#   stn_embed(sources src/app/report.js …)   appends the generated C files to the variable
# The same file is the script that writes them: cmake -DIN=… -DOUT=… -DNAME=… -P Embed.cmake

if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${IN}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    file(WRITE "${OUT}" "/* made of ${NAME} */\n#include \"app/assets.h\"\n"
        "const unsigned char ${NAME}[] = {\n${hex}\n};\n"
        "const size_t ${NAME}_size = sizeof ${NAME};\n")
    return()
endif()

set(STN_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(stn_embed out)
    foreach(file IN LISTS ARGN)
        get_filename_component(base "${file}" NAME)
        string(MAKE_C_IDENTIFIER "stn_asset_${base}" name)
        set(source "${PROJECT_BINARY_DIR}/assets/${name}.c")
        add_custom_command(OUTPUT "${source}"
            COMMAND ${CMAKE_COMMAND} "-DIN=${file}" "-DOUT=${source}" "-DNAME=${name}"
                -P "${STN_EMBED_SCRIPT}"
            DEPENDS "${file}" "${STN_EMBED_SCRIPT}" VERBATIM)
        list(APPEND ${out} "${source}")
    endforeach()
    set(${out} "${${out}}" PARENT_SCOPE)
endfunction()
