# A room of src/ is one object library; all rooms together are libstandin.so and
# libstandin.a. Sources are found by looking, so a new file needs no line here.

set_property(GLOBAL PROPERTY STN_ROOMS "")

# stn_room(core/base): object library stn_core_base of src/core/base/*.c. A room
# without sources makes no library.
function(stn_room room)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.c")
    if(NOT sources)
        return()
    endif()
    string(REPLACE "/" "_" name "stn_${room}")
    add_library(${name} OBJECT ${sources})
    target_link_libraries(${name} PRIVATE stn_flags stn_deps)
    set_property(GLOBAL APPEND PROPERTY STN_ROOMS ${name})
    # A room that generates sources says how in its own room.cmake.
    include("${PROJECT_SOURCE_DIR}/src/${room}/room.cmake" OPTIONAL)
endfunction()

# libstandin.a (target standin_static) and libstandin.so (target standin_shared).
function(stn_libraries)
    get_property(rooms GLOBAL PROPERTY STN_ROOMS)
    if(NOT rooms)
        message(STATUS "src/ holds no sources yet: no library")
        return()
    endif()
    foreach(room IN LISTS rooms)
        list(APPEND objects $<TARGET_OBJECTS:${room}>)
    endforeach()

    add_library(standin_static STATIC ${objects})
    add_library(standin_shared SHARED ${objects})
    foreach(library IN ITEMS standin_static standin_shared)
        set_target_properties(${library} PROPERTIES
            OUTPUT_NAME standin
            LINKER_LANGUAGE C
            VERSION ${PROJECT_VERSION}
            SOVERSION ${PROJECT_VERSION_MAJOR})
        target_include_directories(${library} INTERFACE "${PROJECT_SOURCE_DIR}/include")
    endforeach()
    target_link_libraries(standin_static PUBLIC stn_deps)
    target_link_libraries(standin_shared PRIVATE stn_deps)
    if(STN_SANITIZE)
        target_link_options(standin_shared PRIVATE -fsanitize=${STN_SANITIZE})
    endif()
endfunction()

# The program. All of src/app but main.c is an archive too, so that unit tests can
# link what they look at; main() lives in src/app/main.c alone.
function(stn_program)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/app/*.c")
    set(main "${PROJECT_SOURCE_DIR}/src/app/main.c")
    list(REMOVE_ITEM sources "${main}")
    file(GLOB assets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/app/*.js"
        "${PROJECT_SOURCE_DIR}/src/app/*.css")
    stn_embed(sources HEADER app/assets.h FILES ${assets})
    if(sources AND TARGET standin_static)
        add_library(standin_app STATIC ${sources})
        target_link_libraries(standin_app PRIVATE stn_flags PUBLIC standin_static)
    endif()
    if(NOT TARGET standin_app OR NOT EXISTS "${main}")
        message(STATUS "src/app/main.c is not there yet: no program")
        return()
    endif()
    add_executable(standin "${main}")
    target_link_libraries(standin PRIVATE stn_flags standin_app)
endfunction()
