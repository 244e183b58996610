/** @file
 *  Files of src/app that are compiled into the program (cmake/Embed.cmake). */
#ifndef STN_APP_ASSETS_H
#define STN_APP_ASSETS_H

#include <stddef.h>

extern const unsigned char stn_asset_report_css[]; /**< src/app/report.css */
extern const size_t stn_asset_report_css_size;
extern const unsigned char stn_asset_report_js[]; /**< src/app/report.js */
extern const size_t stn_asset_report_js_size;

#endif
