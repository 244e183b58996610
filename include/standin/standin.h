/** @file
 *  All of the public interface. */
#ifndef STANDIN_STANDIN_H
#define STANDIN_STANDIN_H

#include <standin/base.h>
#include <standin/judge.h>
#include <standin/latdb.h>
#include <standin/rules.h>
#include <standin/synth.h>
#include <standin/trace.h>

#endif
