/** @file
 *  Which descriptor table a thread uses. A thread whose creation was seen shares its
 *  parent's table (CLONE_FILES) or has its own copy; execve gives it one of its own. Threads
 *  whose origin was not seen have an unknown table and are not judged.
 *  Pinned by tests/unit/test_rules_files.c. */
#ifndef STN_KERNEL_RULES_FILES_H
#define STN_KERNEL_RULES_FILES_H

#include <standin/base.h>

/** What an event type does to descriptor tables. */
typedef enum stn_files_act {
    STN_FILES_NOTHING = 0,
    STN_FILES_NEW_TASK, /**< task_newtask: fields pid, clone_flags */
    STN_FILES_EXEC,     /**< the thread's table is its own from now on */
    STN_FILES_FORGET,   /**< the thread's table is not known any more */
    STN_FILES_UNSEEN,   /**< descriptors may appear that no field shows (pipe, SCM_RIGHTS …) */
} stn_files_act;

/** @param name canonical name of an event type */
stn_files_act stn_files_act_of(const char *name);

#endif
