# libpq's headers are looked for when standin is built; the library is loaded at run time. Without
# them everything builds, and PostgreSQL is refused with a word.
pkg_check_modules(STN_LIBPQ QUIET libpq)
if(STN_LIBPQ_FOUND)
    set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/postgres.c" PROPERTIES
        COMPILE_OPTIONS "-isystem${STN_LIBPQ_INCLUDEDIR}"
        COMPILE_DEFINITIONS "STN_HAVE_LIBPQ")
else()
    message(STATUS "libpq is not there: no PostgreSQL")
endif()
