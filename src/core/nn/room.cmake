# Fast kernels are compiled for AVX2 and FMA and chosen at run time; sums may be reordered there
# (the reference kernels say what they must come to), and OpenMP spreads them over the cores.
find_library(STN_DNNL dnnl REQUIRED)
target_link_libraries(stn_deps INTERFACE ${STN_DNNL})
find_package(OpenMP COMPONENTS C QUIET)
if(OpenMP_C_FOUND)
    target_link_libraries(stn_deps INTERFACE ${OpenMP_C_LIBRARIES})
endif()
set(STN_FAST_FLAGS -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math
    -fno-signed-zeros -fassociative-math ${OpenMP_C_FLAGS})
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND STN_FAST_FLAGS -Wno-pass-failed) # a loop that stays scalar is no defect
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND STN_FAST_FLAGS -mavx2 -mfma)
endif()
set_source_files_properties(
    "${CMAKE_CURRENT_LIST_DIR}/kernel_avx2.c" "${CMAKE_CURRENT_LIST_DIR}/attention_avx2.c"
    "${CMAKE_CURRENT_LIST_DIR}/packed_avx2.c"
    PROPERTIES COMPILE_OPTIONS "${STN_FAST_FLAGS}")
