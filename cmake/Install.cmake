# cmake --install build/release [--prefix DIR]; undone by cmake/uninstall.cmake.

if(NOT TARGET standin_static)
    return()
endif()

install(TARGETS standin_static standin_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET standin_ggml)
    install(TARGETS standin_ggml LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/standin"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

string(JOIN " " STN_PC_REQUIRES ${STN_PKG_MODULES})
# Seen from where standin.pc lies, so that it holds for any --prefix and after a move.
file(RELATIVE_PATH STN_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" STN_PC_UP "${STN_PC_UP}")
set(STN_PC_PREFIX "\${pcfiledir}/${STN_PC_UP}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/standin.pc.in"
               "${PROJECT_BINARY_DIR}/standin.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/standin.pc"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET standin)
    install(TARGETS standin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # The man pages and the completion are projected from the program's command table.
    set(STN_PROGRAM "${PROJECT_BINARY_DIR}/standin")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/install_projected.cmake.in"
                   "${PROJECT_BINARY_DIR}/install_projected.cmake" @ONLY)
    install(SCRIPT "${PROJECT_BINARY_DIR}/install_projected.cmake")
endif()
