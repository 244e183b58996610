# stn_deps: every library from outside, found by pkg-config. scripts/setup.sh installs them.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Named in standin.pc for those who link libstandin.a.
set(STN_PKG_MODULES
    babeltrace2 libtracefs libtraceevent libtracecmd libzstd zlib jansson sqlite3)

pkg_check_modules(STN_PKG REQUIRED IMPORTED_TARGET ${STN_PKG_MODULES})

add_library(stn_deps INTERFACE)
target_link_libraries(stn_deps INTERFACE PkgConfig::STN_PKG Threads::Threads m ${CMAKE_DL_LIBS})
