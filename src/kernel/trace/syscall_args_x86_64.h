/** @file
 *  Arguments of x86-64 Linux system calls as the kernel's own tracepoints name them: how many,
 *  how each register is read, the names. d int, u unsigned int, l long, w unsigned long,
 *  h flags in 32 bits, x address or flags in 64 bits.
 *  Source: the formats of events/syscalls/sys_enter_* of Linux 6.18 (SYSCALL_DEFINE).
 *  X-macro list, included by syscall_args.c alone. */
#ifndef STN_KERNEL_TRACE_SYSCALL_ARGS_X86_64_H
#define STN_KERNEL_TRACE_SYSCALL_ARGS_X86_64_H

/* clang-format off */
#define STN_SYSCALL_ARGS_X86_64(X) \
    X(0, 3, "dxw", "fd", "buf", "count") \
    X(1, 3, "dxw", "fd", "buf", "count") \
    X(2, 3, "xhh", "filename", "flags", "mode") \
    X(3, 1, "d", "fd") \
    X(4, 2, "xx", "filename", "statbuf") \
    X(5, 2, "dx", "fd", "statbuf") \
    X(6, 2, "xx", "filename", "statbuf") \
    X(7, 3, "xud", "ufds", "nfds", "timeout_msecs") \
    X(8, 3, "dlu", "fd", "offset", "whence") \
    X(9, 6, "wwxxdw", "addr", "len", "prot", "flags", "fd", "off") \
    X(10, 3, "wwx", "start", "len", "prot") \
    X(11, 2, "ww", "addr", "len") \
    X(12, 1, "w", "brk") \
    X(13, 4, "dxxw", "sig", "act", "oact", "sigsetsize") \
    X(14, 4, "dxxw", "how", "nset", "oset", "sigsetsize") \
    X(16, 3, "duw", "fd", "cmd", "arg") \
    X(17, 4, "dxwl", "fd", "buf", "count", "pos") \
    X(18, 4, "dxwl", "fd", "buf", "count", "pos") \
    X(19, 3, "dxw", "fd", "vec", "vlen") \
    X(20, 3, "dxw", "fd", "vec", "vlen") \
    X(21, 2, "xh", "filename", "mode") \
    X(22, 1, "x", "fildes") \
    X(23, 5, "dxxxx", "n", "inp", "outp", "exp", "tvp") \
    X(25, 5, "wwwxw", "addr", "old_len", "new_len", "flags", "new_addr") \
    X(26, 3, "wwh", "start", "len", "flags") \
    X(27, 3, "wwx", "start", "len", "vec") \
    X(28, 3, "wwd", "start", "len_in", "behavior") \
    X(29, 3, "dwd", "key", "size", "shmflg") \
    X(30, 3, "dxd", "shmid", "shmaddr", "shmflg") \
    X(31, 3, "ddx", "shmid", "cmd", "buf") \
    X(32, 1, "d", "fildes") \
    X(33, 2, "dd", "oldfd", "newfd") \
    X(35, 2, "xx", "rqtp", "rmtp") \
    X(36, 2, "dx", "which", "value") \
    X(37, 1, "u", "seconds") \
    X(38, 3, "dxx", "which", "value", "ovalue") \
    X(40, 4, "ddxw", "out_fd", "in_fd", "offset", "count") \
    X(41, 3, "ddd", "family", "type", "protocol") \
    X(42, 3, "dxd", "fd", "uservaddr", "addrlen") \
    X(43, 3, "dxx", "fd", "upeer_sockaddr", "upeer_addrlen") \
    X(44, 6, "dxwhxd", "fd", "buff", "len", "flags", "addr", "addr_len") \
    X(45, 6, "dxwhxx", "fd", "ubuf", "size", "flags", "addr", "addr_len") \
    X(46, 3, "dxh", "fd", "msg", "flags") \
    X(47, 3, "dxh", "fd", "msg", "flags") \
    X(48, 2, "dd", "fd", "how") \
    X(49, 3, "dxd", "fd", "umyaddr", "addrlen") \
    X(50, 2, "dd", "fd", "backlog") \
    X(51, 3, "dxx", "fd", "usockaddr", "usockaddr_len") \
    X(52, 3, "dxx", "fd", "usockaddr", "usockaddr_len") \
    X(53, 4, "dddx", "family", "type", "protocol", "usockvec") \
    X(54, 5, "dddxd", "fd", "level", "optname", "optval", "optlen") \
    X(55, 5, "dddxx", "fd", "level", "optname", "optval", "optlen") \
    X(56, 5, "xwxxw", "clone_flags", "newsp", "parent_tidptr", "child_tidptr", "tls") \
    X(59, 3, "xxx", "filename", "argv", "envp") \
    X(60, 1, "d", "error_code") \
    X(61, 4, "dxdx", "upid", "stat_addr", "options", "ru") \
    X(62, 2, "dd", "pid", "sig") \
    X(63, 1, "x", "name") \
    X(64, 3, "ddd", "key", "nsems", "semflg") \
    X(65, 3, "dxu", "semid", "tsops", "nsops") \
    X(66, 4, "dddw", "semid", "semnum", "cmd", "arg") \
    X(67, 1, "x", "shmaddr") \
    X(68, 2, "dd", "key", "msgflg") \
    X(69, 4, "dxwd", "msqid", "msgp", "msgsz", "msgflg") \
    X(70, 5, "dxwld", "msqid", "msgp", "msgsz", "msgtyp", "msgflg") \
    X(71, 3, "ddx", "msqid", "cmd", "buf") \
    X(72, 3, "duw", "fd", "cmd", "arg") \
    X(73, 2, "du", "fd", "cmd") \
    X(74, 1, "d", "fd") \
    X(75, 1, "d", "fd") \
    X(76, 2, "xl", "path", "length") \
    X(77, 2, "dl", "fd", "length") \
    X(78, 3, "dxu", "fd", "dirent", "count") \
    X(79, 2, "xw", "buf", "size") \
    X(80, 1, "x", "filename") \
    X(81, 1, "d", "fd") \
    X(82, 2, "xx", "oldname", "newname") \
    X(83, 2, "xh", "pathname", "mode") \
    X(84, 1, "x", "pathname") \
    X(85, 2, "xh", "pathname", "mode") \
    X(86, 2, "xx", "oldname", "newname") \
    X(87, 1, "x", "pathname") \
    X(88, 2, "xx", "oldname", "newname") \
    X(89, 3, "xxd", "path", "buf", "bufsiz") \
    X(90, 2, "xh", "filename", "mode") \
    X(91, 2, "dh", "fd", "mode") \
    X(92, 3, "xuu", "filename", "user", "group") \
    X(93, 3, "duu", "fd", "user", "group") \
    X(94, 3, "xuu", "filename", "user", "group") \
    X(95, 1, "d", "mask") \
    X(96, 2, "xx", "tv", "tz") \
    X(97, 2, "ux", "resource", "rlim") \
    X(98, 2, "dx", "who", "ru") \
    X(99, 1, "x", "info") \
    X(100, 1, "x", "tbuf") \
    X(101, 4, "llww", "request", "pid", "addr", "data") \
    X(103, 3, "dxd", "type", "buf", "len") \
    X(105, 1, "u", "uid") \
    X(106, 1, "u", "gid") \
    X(109, 2, "dd", "pid", "pgid") \
    X(113, 2, "uu", "ruid", "euid") \
    X(114, 2, "uu", "rgid", "egid") \
    X(115, 2, "dx", "gidsetsize", "grouplist") \
    X(116, 2, "dx", "gidsetsize", "grouplist") \
    X(117, 3, "uuu", "ruid", "euid", "suid") \
    X(118, 3, "xxx", "ruidp", "euidp", "suidp") \
    X(119, 3, "uuu", "rgid", "egid", "sgid") \
    X(120, 3, "xxx", "rgidp", "egidp", "sgidp") \
    X(121, 1, "d", "pid") \
    X(122, 1, "u", "uid") \
    X(123, 1, "u", "gid") \
    X(124, 1, "d", "pid") \
    X(125, 2, "xx", "header", "dataptr") \
    X(126, 2, "xx", "header", "data") \
    X(127, 2, "xw", "uset", "sigsetsize") \
    X(128, 4, "xxxw", "uthese", "uinfo", "uts", "sigsetsize") \
    X(129, 3, "ddx", "pid", "sig", "uinfo") \
    X(130, 2, "xw", "unewset", "sigsetsize") \
    X(131, 2, "xx", "uss", "uoss") \
    X(132, 2, "xx", "filename", "times") \
    X(133, 3, "xhu", "filename", "mode", "dev") \
    X(135, 1, "u", "personality") \
    X(136, 2, "ux", "dev", "ubuf") \
    X(137, 2, "xx", "pathname", "buf") \
    X(138, 2, "dx", "fd", "buf") \
    X(139, 3, "dww", "option", "arg1", "arg2") \
    X(140, 2, "dd", "which", "who") \
    X(141, 3, "ddd", "which", "who", "niceval") \
    X(142, 2, "dx", "pid", "param") \
    X(143, 2, "dx", "pid", "param") \
    X(144, 3, "ddx", "pid", "policy", "param") \
    X(145, 1, "d", "pid") \
    X(146, 1, "d", "policy") \
    X(147, 1, "d", "policy") \
    X(148, 2, "dx", "pid", "interval") \
    X(149, 2, "ww", "start", "len") \
    X(150, 2, "ww", "start", "len") \
    X(151, 1, "h", "flags") \
    X(154, 3, "dxw", "func", "ptr", "bytecount") \
    X(155, 2, "xx", "new_root", "put_old") \
    X(157, 5, "dwwww", "option", "arg2", "arg3", "arg4", "arg5") \
    X(158, 2, "dw", "option", "arg2") \
    X(159, 1, "x", "txc_p") \
    X(160, 2, "ux", "resource", "rlim") \
    X(161, 1, "x", "filename") \
    X(163, 1, "x", "name") \
    X(164, 2, "xx", "tv", "tz") \
    X(165, 5, "xxxxx", "dev_name", "dir_name", "type", "flags", "data") \
    X(166, 2, "xh", "name", "flags") \
    X(167, 2, "xh", "specialfile", "swap_flags") \
    X(168, 1, "x", "specialfile") \
    X(169, 4, "ddux", "magic1", "magic2", "cmd", "arg") \
    X(170, 2, "xd", "name", "len") \
    X(171, 2, "xd", "name", "len") \
    X(172, 1, "u", "level") \
    X(173, 3, "wwd", "from", "num", "turn_on") \
    X(179, 4, "uxdx", "cmd", "special", "id", "addr") \
    X(187, 3, "dlw", "fd", "offset", "count") \
    X(188, 5, "xxxwh", "pathname", "name", "value", "size", "flags") \
    X(189, 5, "xxxwh", "pathname", "name", "value", "size", "flags") \
    X(190, 5, "dxxwh", "fd", "name", "value", "size", "flags") \
    X(191, 4, "xxxw", "pathname", "name", "value", "size") \
    X(192, 4, "xxxw", "pathname", "name", "value", "size") \
    X(193, 4, "dxxw", "fd", "name", "value", "size") \
    X(194, 3, "xxw", "pathname", "list", "size") \
    X(195, 3, "xxw", "pathname", "list", "size") \
    X(196, 3, "dxw", "fd", "list", "size") \
    X(197, 2, "xx", "pathname", "name") \
    X(198, 2, "xx", "pathname", "name") \
    X(199, 2, "dx", "fd", "name") \
    X(200, 2, "dd", "pid", "sig") \
    X(201, 1, "x", "tloc") \
    X(202, 6, "xduxxu", "uaddr", "op", "val", "utime", "uaddr2", "val3") \
    X(203, 3, "dux", "pid", "len", "user_mask_ptr") \
    X(204, 3, "dux", "pid", "len", "user_mask_ptr") \
    X(206, 2, "ux", "nr_events", "ctxp") \
    X(207, 1, "x", "ctx") \
    X(208, 5, "xllxx", "ctx_id", "min_nr", "nr", "events", "timeout") \
    X(209, 3, "xlx", "ctx_id", "nr", "iocbpp") \
    X(210, 3, "xxx", "ctx_id", "iocb", "result") \
    X(213, 1, "d", "size") \
    X(216, 5, "wwxwx", "start", "size", "prot", "pgoff", "flags") \
    X(217, 3, "dxu", "fd", "dirent", "count") \
    X(218, 1, "x", "tidptr") \
    X(220, 4, "dxux", "semid", "tsops", "nsops", "timeout") \
    X(221, 4, "dlwd", "fd", "offset", "len", "advice") \
    X(222, 3, "dxx", "which_clock", "timer_event_spec", "created_timer_id") \
    X(223, 4, "dhxx", "timer_id", "flags", "new_setting", "old_setting") \
    X(224, 2, "dx", "timer_id", "setting") \
    X(225, 1, "d", "timer_id") \
    X(226, 1, "d", "timer_id") \
    X(227, 2, "dx", "which_clock", "tp") \
    X(228, 2, "dx", "which_clock", "tp") \
    X(229, 2, "dx", "which_clock", "tp") \
    X(230, 4, "dhxx", "which_clock", "flags", "rqtp", "rmtp") \
    X(231, 1, "d", "error_code") \
    X(232, 4, "dxdd", "epfd", "events", "maxevents", "timeout") \
    X(233, 4, "dddx", "epfd", "op", "fd", "event") \
    X(234, 3, "ddd", "tgid", "pid", "sig") \
    X(235, 2, "xx", "filename", "utimes") \
    X(237, 6, "wwxxwh", "start", "len", "mode", "nmask", "maxnode", "flags") \
    X(238, 3, "hxw", "mode", "nmask", "maxnode") \
    X(239, 5, "xxwwx", "policy", "nmask", "maxnode", "addr", "flags") \
    X(240, 4, "xdhx", "u_name", "oflag", "mode", "u_attr") \
    X(241, 1, "x", "u_name") \
    X(242, 5, "dxwux", "mqdes", "u_msg_ptr", "msg_len", "msg_prio", "u_abs_timeout") \
    X(243, 5, "dxwxx", "mqdes", "u_msg_ptr", "msg_len", "u_msg_prio", "u_abs_timeout") \
    X(244, 2, "dx", "mqdes", "u_notification") \
    X(245, 3, "dxx", "mqdes", "u_mqstat", "u_omqstat") \
    X(247, 5, "ddxdx", "which", "upid", "infop", "options", "ru") \
    X(248, 5, "xxxwd", "_type", "_description", "_payload", "plen", "ringid") \
    X(249, 4, "xxxd", "_type", "_description", "_callout_info", "destringid") \
    X(250, 5, "dwwww", "option", "arg2", "arg3", "arg4", "arg5") \
    X(251, 3, "ddd", "which", "who", "ioprio") \
    X(252, 2, "dd", "which", "who") \
    X(254, 3, "dxu", "fd", "pathname", "mask") \
    X(255, 2, "dd", "fd", "wd") \
    X(256, 4, "dwxx", "pid", "maxnode", "old_nodes", "new_nodes") \
    X(257, 4, "dxhh", "dfd", "filename", "flags", "mode") \
    X(258, 3, "dxh", "dfd", "pathname", "mode") \
    X(259, 4, "dxhu", "dfd", "filename", "mode", "dev") \
    X(260, 5, "dxuud", "dfd", "filename", "user", "group", "flag") \
    X(261, 3, "dxx", "dfd", "filename", "utimes") \
    X(262, 4, "dxxd", "dfd", "filename", "statbuf", "flag") \
    X(263, 3, "dxd", "dfd", "pathname", "flag") \
    X(264, 4, "dxdx", "olddfd", "oldname", "newdfd", "newname") \
    X(265, 5, "dxdxh", "olddfd", "oldname", "newdfd", "newname", "flags") \
    X(266, 3, "xdx", "oldname", "newdfd", "newname") \
    X(267, 4, "dxxd", "dfd", "pathname", "buf", "bufsiz") \
    X(268, 3, "dxh", "dfd", "filename", "mode") \
    X(269, 3, "dxh", "dfd", "filename", "mode") \
    X(270, 6, "dxxxxx", "n", "inp", "outp", "exp", "tsp", "sig") \
    X(271, 5, "xuxxw", "ufds", "nfds", "tsp", "sigmask", "sigsetsize") \
    X(272, 1, "x", "unshare_flags") \
    X(273, 2, "xw", "head", "len") \
    X(274, 3, "dxx", "pid", "head_ptr", "len_ptr") \
    X(275, 6, "dxdxwh", "fd_in", "off_in", "fd_out", "off_out", "len", "flags") \
    X(276, 4, "ddwh", "fdin", "fdout", "len", "flags") \
    X(277, 4, "dllh", "fd", "offset", "nbytes", "flags") \
    X(278, 4, "dxwh", "fd", "uiov", "nr_segs", "flags") \
    X(279, 6, "dwxxxh", "pid", "nr_pages", "pages", "nodes", "status", "flags") \
    X(280, 4, "dxxh", "dfd", "filename", "utimes", "flags") \
    X(281, 6, "dxddxw", "epfd", "events", "maxevents", "timeout", "sigmask", "sigsetsize") \
    X(282, 3, "dxw", "ufd", "user_mask", "sizemask") \
    X(283, 2, "dh", "clockid", "flags") \
    X(284, 1, "u", "count") \
    X(285, 4, "dhll", "fd", "mode", "offset", "len") \
    X(286, 4, "dhxx", "ufd", "flags", "utmr", "otmr") \
    X(287, 2, "dx", "ufd", "otmr") \
    X(288, 4, "dxxh", "fd", "upeer_sockaddr", "upeer_addrlen", "flags") \
    X(289, 4, "dxwh", "ufd", "user_mask", "sizemask", "flags") \
    X(290, 2, "uh", "count", "flags") \
    X(291, 1, "h", "flags") \
    X(292, 3, "ddh", "oldfd", "newfd", "flags") \
    X(293, 2, "xh", "fildes", "flags") \
    X(294, 1, "h", "flags") \
    X(295, 5, "dxwww", "fd", "vec", "vlen", "pos_l", "pos_h") \
    X(296, 5, "dxwww", "fd", "vec", "vlen", "pos_l", "pos_h") \
    X(297, 4, "dddx", "tgid", "pid", "sig", "uinfo") \
    X(298, 5, "xdddx", "attr_uptr", "pid", "cpu", "group_fd", "flags") \
    X(299, 5, "dxuhx", "fd", "mmsg", "vlen", "flags", "timeout") \
    X(300, 2, "hh", "flags", "event_f_flags") \
    X(301, 5, "dhwdx", "fanotify_fd", "flags", "mask", "dfd", "pathname") \
    X(302, 4, "duxx", "pid", "resource", "new_rlim", "old_rlim") \
    X(303, 5, "dxxxd", "dfd", "name", "handle", "mnt_id", "flag") \
    X(304, 3, "dxh", "mountdirfd", "handle", "flags") \
    X(305, 2, "dx", "which_clock", "utx") \
    X(306, 1, "d", "fd") \
    X(307, 4, "dxuh", "fd", "mmsg", "vlen", "flags") \
    X(308, 2, "dh", "fd", "flags") \
    X(309, 3, "xxx", "cpup", "nodep", "unused") \
    X(310, 6, "dxwxwx", "pid", "lvec", "liovcnt", "rvec", "riovcnt", "flags") \
    X(311, 6, "dxwxwx", "pid", "lvec", "liovcnt", "rvec", "riovcnt", "flags") \
    X(312, 5, "dddww", "pid1", "pid2", "type", "idx1", "idx2") \
    X(314, 3, "dxh", "pid", "uattr", "flags") \
    X(315, 4, "dxuh", "pid", "uattr", "usize", "flags") \
    X(316, 5, "dxdxh", "olddfd", "oldname", "newdfd", "newname", "flags") \
    X(317, 3, "uhx", "op", "flags", "uargs") \
    X(318, 3, "xwh", "ubuf", "len", "flags") \
    X(319, 2, "xh", "uname", "flags") \
    X(321, 3, "dxu", "cmd", "uattr", "size") \
    X(322, 5, "dxxxh", "fd", "filename", "argv", "envp", "flags") \
    X(323, 1, "h", "flags") \
    X(324, 3, "dhd", "cmd", "flags", "cpu_id") \
    X(325, 3, "wwh", "start", "len", "flags") \
    X(326, 6, "dxdxwh", "fd_in", "off_in", "fd_out", "off_out", "len", "flags") \
    X(327, 6, "dxwwwh", "fd", "vec", "vlen", "pos_l", "pos_h", "flags") \
    X(328, 6, "dxwwwh", "fd", "vec", "vlen", "pos_l", "pos_h", "flags") \
    X(329, 4, "wwxd", "start", "len", "prot", "pkey") \
    X(330, 2, "xw", "flags", "init_val") \
    X(331, 1, "d", "pkey") \
    X(332, 5, "dxhux", "dfd", "filename", "flags", "mask", "buffer") \
    X(333, 6, "xllxxx", "ctx_id", "min_nr", "nr", "events", "timeout", "usig") \
    X(334, 4, "xuhu", "rseq", "rseq_len", "flags", "sig") \
    X(424, 4, "ddxh", "pidfd", "sig", "info", "flags") \
    X(425, 2, "ux", "entries", "params") \
    X(426, 6, "duuhxw", "fd", "to_submit", "min_complete", "flags", "argp", "argsz") \
    X(427, 4, "duxu", "fd", "opcode", "arg", "nr_args") \
    X(428, 3, "dxh", "dfd", "filename", "flags") \
    X(429, 5, "dxdxh", "from_dfd", "from_pathname", "to_dfd", "to_pathname", "flags") \
    X(430, 2, "xh", "_fs_name", "flags") \
    X(431, 5, "duxxd", "fd", "cmd", "_key", "_value", "aux") \
    X(432, 3, "dhh", "fs_fd", "flags", "attr_flags") \
    X(433, 3, "dxh", "dfd", "path", "flags") \
    X(434, 2, "dh", "pid", "flags") \
    X(435, 2, "xw", "uargs", "size") \
    X(436, 3, "ddh", "fd", "max_fd", "flags") \
    X(437, 4, "dxxw", "dfd", "filename", "how", "usize") \
    X(438, 3, "ddh", "pidfd", "fd", "flags") \
    X(439, 4, "dxhh", "dfd", "filename", "mode", "flags") \
    X(440, 5, "dxwdh", "pidfd", "vec", "vlen", "behavior", "flags") \
    X(441, 6, "dxdxxw", "epfd", "events", "maxevents", "timeout", "sigmask", "sigsetsize") \
    X(442, 5, "dxhxw", "dfd", "path", "flags", "uattr", "usize") \
    X(443, 4, "dudx", "fd", "cmd", "id", "addr") \
    X(444, 3, "xwh", "attr", "size", "flags") \
    X(445, 4, "ddxh", "ruleset_fd", "rule_type", "rule_attr", "flags") \
    X(446, 2, "dh", "ruleset_fd", "flags") \
    X(447, 1, "h", "flags") \
    X(448, 2, "dh", "pidfd", "flags") \
    X(449, 5, "xuhxd", "waiters", "nr_futexes", "flags", "timeout", "clockid") \
    X(450, 4, "wwwx", "start", "len", "home_node", "flags") \
    X(451, 4, "dxxh", "fd", "cstat_range", "cstat", "flags") \
    X(452, 4, "dxhh", "dfd", "filename", "mode", "flags") \
    X(454, 4, "xwdh", "uaddr", "mask", "nr", "flags") \
    X(455, 6, "xwwhxd", "uaddr", "val", "mask", "flags", "timeout", "clockid") \
    X(456, 4, "xhdd", "waiters", "flags", "nr_wake", "nr_requeue") \
    X(457, 4, "xxwh", "req", "buf", "bufsize", "flags") \
    X(458, 4, "xxwh", "req", "mnt_ids", "nr_mnt_ids", "flags") \
    X(459, 4, "uxxh", "attr", "ctx", "size", "flags") \
    X(460, 4, "uxuh", "attr", "ctx", "size", "flags") \
    X(461, 3, "xxh", "ids", "size", "flags") \
    X(462, 3, "wwx", "start", "len", "flags") \
    X(463, 6, "dxhxxw", "dfd", "pathname", "at_flags", "name", "uargs", "usize") \
    X(464, 6, "dxhxxw", "dfd", "pathname", "at_flags", "name", "uargs", "usize") \
    X(465, 5, "dxhxw", "dfd", "pathname", "at_flags", "list", "size") \
    X(466, 4, "dxhx", "dfd", "pathname", "at_flags", "name") \
    X(467, 5, "dxhxw", "dfd", "filename", "flags", "uattr", "usize") \
    X(468, 5, "dxxwh", "dfd", "filename", "ufattr", "usize", "at_flags") \
    X(469, 5, "dxxwh", "dfd", "filename", "ufattr", "usize", "at_flags")

/* clang-format on */
#endif
