/* Events as a CTF 1.8 trace in the dialect of LTTng's kernel tracer, docs/formats/ctf.md. Written
 * by hand and not through libbabeltrace2's sink.ctf.fs, for the reasons in
 * docs/adr/0002-own-ctf-writer.md.
 *
 * A folder with one file per CPU (channel0_0, channel0_1 …), each a chain of packets:
 *
 *     header   magic, UUID, stream class, CPU
 *     context  times of begin and end, sizes, sequence number, events lost so far, CPU
 *     events   header (id and low 32 bits of the time, or extended), tid, procname, payload
 *
 * Events whose CPU, thread or process name is not known go to stream classes without that
 * context (channel1_0 …), so that "not known" comes back as such.
 *
 * A loss is told by the count in the context of a packet, and is taken to have happened between
 * the end of the packet before and its own end; so packets are cut where a loss begins and
 * ends (place_loss). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"
#include "core/data/outfile.h"
#include "kernel/trace/format.h"
#include "kernel/trace/write_tsdl.h"

#define PACKET_BYTES  ((size_t)256 << 10) /* a packet is closed when it has grown to this */
#define CTF_MAGIC     0xc1fc1fc1u
#define EXTENDED_ID   65535u
#define STREAM_KINDS  8
#define MARKER        ".standin" /* a hidden file, which readers of CTF pass over */
#define MARKER_TEXT   "standin ctf 1\n"
#define LTTNG_MODULES "lttng-modules"

/* Bits of a stream class's number: what its events do not have. */
enum { NO_CPU = 1, NO_TID = 2, NO_COMM = 4 };

typedef struct mark {
    uint64_t time_ns;
    size_t at; /* offset in the packet */
} mark;

/* One file. */
typedef struct stream {
    uint32_t kind; /* stream class */
    uint16_t cpu;
    stn_line packet; /* the open packet; empty if there is none */
    mark *marks;     /* [mark_count] where its events begin */
    size_t mark_count, mark_capacity;
    uint64_t begin_ns;
    uint64_t clock_ns; /* what a reader's clock shows behind the last event */
    uint64_t end_ns;   /* of the packet before */
    bool ended;        /* there is one */
    uint64_t lost;
    uint64_t sequence;
    char *path;
} stream;

typedef struct ctf_writer {
    const stn_catalog *catalog;
    char *path;      /* final name */
    char *temporary; /* folder */
    stn_trace_meta meta;
    unsigned char uuid[16];
    bool started; /* the UUID is made */
    stn_tsdl_classes classes;
    stn_filler filler;
    stream **streams[STREAM_KINDS]; /* [kind][cpu] */
    size_t stream_counts[STREAM_KINDS], stream_capacities[STREAM_KINDS];
    uint32_t count_id, begin_id; /* names of a mark's fields */
} ctf_writer;

/* ---- files ----------------------------------------------------------- */

static stn_status write_file(const char *path, int flags, const char *bytes, size_t size,
                             stn_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    bool failed = fd < 0;
    while (!failed && size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno != EINTR) {
            failed = true;
        } else if (done > 0) {
            bytes += done;
            size -= (size_t)done;
        }
    }
    int reason = errno;
    if (fd >= 0 && close(fd) && !failed) {
        failed = true;
        reason = errno;
    }
    return failed ? stn_err_set(err, STN_EIO, "cannot write %s: %s", strrchr(path, '/') + 1,
                                strerror(reason))
                  : STN_OK;
}

static stn_status write_named(const ctf_writer *writer, const char *name, const char *bytes,
                              size_t size, stn_err *err) {
    size_t length = strlen(writer->temporary) + strlen(name) + 2;
    char *path = stn_malloc(length);
    if (!path) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    snprintf(path, length, "%s/%s", writer->temporary, name);
    stn_status status = write_file(path, O_TRUNC, bytes, size, err);
    stn_free(path);
    return status;
}

/* ---- packets --------------------------------------------------------- */

/* Offsets of what is only known when a packet is closed. */
enum {
    AT_UUID = 4,
    AT_BEGIN = 32,
    AT_END = 40,
    AT_CONTENT = 48,
    AT_SIZE = 56,
    AT_LOST = 72,
    AT_CPU = 80,
};

static void packet_begin(stream *s, const ctf_writer *writer, uint64_t begin_ns) {
    stn_line *packet = &s->packet;
    stn_line_clear(packet);
    stn_tsdl_integer(packet, CTF_MAGIC, 4);
    stn_line_bytes(packet, (const char *)writer->uuid, 16);
    stn_tsdl_integer(packet, s->kind, 4);
    stn_tsdl_integer(packet, s->cpu == STN_NO_CPU ? 0 : s->cpu, 8); /* which of its class */
    stn_tsdl_integer(packet, begin_ns, 8);
    for (unsigned i = 0; i < 3; i++) {
        stn_tsdl_integer(packet, 0, 8); /* end, content, size */
    }
    stn_tsdl_integer(packet, s->sequence++, 8);
    stn_tsdl_integer(packet, s->lost, 8);
    if (!(s->kind & NO_CPU)) {
        stn_tsdl_integer(packet, s->cpu, 4);
    }
    s->mark_count = 0;
    s->begin_ns = begin_ns;
    s->clock_ns = begin_ns;
}

static void patch(stn_line *packet, size_t at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) {
        packet->bytes[at + i] = (char)(unsigned char)(value >> (8 * i));
    }
}

/* Write the open packet; it lasts until @p end_ns. */
static stn_status packet_end(stream *s, uint64_t end_ns, stn_err *err) {
    stn_line *packet = &s->packet;
    if (packet->failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a packet");
    }
    patch(packet, AT_END, end_ns);
    patch(packet, AT_CONTENT, (uint64_t)packet->size * 8);
    patch(packet, AT_SIZE, (uint64_t)packet->size * 8);
    stn_status status = write_file(s->path, O_APPEND, packet->bytes, packet->size, err);
    stn_line_clear(packet);
    s->end_ns = end_ns;
    s->ended = true;
    return status;
}

static uint64_t last_ns(const stream *s) {
    return s->mark_count ? s->marks[s->mark_count - 1].time_ns : s->begin_ns;
}

/* ---- streams --------------------------------------------------------- */

static bool stream_path(stream *s, const ctf_writer *writer) {
    size_t size = strlen(writer->temporary) + 40;
    s->path = stn_malloc(size);
    if (!s->path) {
        return false;
    }
    if (s->kind & NO_CPU) {
        snprintf(s->path, size, "%s/channel%u", writer->temporary, s->kind);
    } else {
        snprintf(s->path, size, "%s/channel%u_%u", writer->temporary, s->kind, s->cpu);
    }
    return true;
}

static void stream_free(stream *s) {
    if (s) {
        stn_line_fini(&s->packet);
        stn_free(s->marks);
        stn_free(s->path);
        stn_free(s);
    }
}

static stn_status stream_make(ctf_writer *writer, uint32_t kind, uint16_t cpu, stn_err *err) {
    size_t index = kind & NO_CPU ? 0 : cpu;
    stream ***list = &writer->streams[kind];
    size_t *count = &writer->stream_counts[kind];
    if (index >= *count) {
        if (stn_grow(list, &writer->stream_capacities[kind], index + 1, sizeof **list)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for a stream");
        }
        memset(*list + *count, 0, (index + 1 - *count) * sizeof **list);
        *count = index + 1;
    }
    stream *s = stn_calloc(1, sizeof *s);
    if (s) {
        s->kind = kind;
        s->cpu = cpu;
    }
    if (!s || !stream_path(s, writer)) {
        stream_free(s);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a stream");
    }
    (*list)[index] = s;
    return STN_OK;
}

static stream *stream_seek(const ctf_writer *writer, uint32_t kind, uint16_t cpu) {
    size_t index = kind & NO_CPU ? 0 : cpu;
    return index < writer->stream_counts[kind] ? writer->streams[kind][index] : NULL;
}

static stn_status stream_of(ctf_writer *writer, uint32_t kind, uint16_t cpu, stream **out,
                            stn_err *err) {
    *out = stream_seek(writer, kind, cpu);
    stn_status status = *out ? STN_OK : stream_make(writer, kind, cpu, err);
    *out = stream_seek(writer, kind, cpu);
    return status;
}

/* ---- events ---------------------------------------------------------- */

/* A reader's clock takes the low 32 bits and adds 2^32 when they fell, so the short form does
 * only for what comes less than 2^32 ns after the event before. */
static void put_event_header(stream *s, uint32_t id, uint64_t time_ns) {
    stn_line *packet = &s->packet;
    if (id < EXTENDED_ID && time_ns - s->clock_ns < (uint64_t)1 << 32) {
        stn_tsdl_integer(packet, id, 2);
        stn_tsdl_integer(packet, time_ns, 4);
    } else {
        stn_tsdl_integer(packet, EXTENDED_ID, 2);
        stn_tsdl_integer(packet, id, 4);
        stn_tsdl_integer(packet, time_ns, 8);
    }
    s->clock_ns = time_ns;
}

static stn_status put_event(ctf_writer *writer, stream *s, const stn_event *event,
                            const stn_slotted *seen, stn_err *err) {
    const stn_tsdl_class *class;
    uint32_t id;
    stn_status status =
        stn_tsdl_class_find(&writer->classes, event, seen, s->kind, &class, &id, err);
    if (!status && s->packet.size >= PACKET_BYTES) {
        status = packet_end(s, last_ns(s), err);
    }
    if (status) {
        return status;
    }
    if (!s->packet.size) {
        packet_begin(s, writer, event->time_ns);
    }
    if (stn_grow(&s->marks, &s->mark_capacity, s->mark_count + 1, sizeof *s->marks)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a packet");
    }
    s->marks[s->mark_count++] = (mark){event->time_ns, s->packet.size};
    put_event_header(s, id, event->time_ns);
    if (!(s->kind & NO_TID)) {
        stn_tsdl_integer(&s->packet, (uint64_t)(int64_t)event->tid, 4);
    }
    if (!(s->kind & NO_COMM)) {
        const char *comm = stn_catalog_text(writer->catalog, event->comm);
        stn_line_bytes(&s->packet, comm, strlen(comm) + 1);
    }
    stn_tsdl_class_put(class, event, seen, &s->packet);
    return s->packet.failed ? stn_err_set(err, STN_ENOMEM, "out of memory for a packet") : STN_OK;
}

/* ---- losses ---------------------------------------------------------- */

/* How many events of the open packet stand before the loss: those until it began, but one
 * event stays behind the cut, because Trace Compass passes over packets without events. */
static size_t events_before(const stream *s, uint64_t begin_ns) {
    size_t count = s->mark_count; /* 0 if the packet is empty */
    while (count > 0 && s->marks[count - 1].time_ns > begin_ns) {
        count--;
    }
    return count && count == s->mark_count ? count - 1 : count;
}

/* Close the open packet behind its first @p keep events and begin another with the rest. */
static stn_status packet_split(ctf_writer *writer, stream *s, size_t keep, uint64_t end_ns,
                               stn_err *err) {
    size_t cut = keep < s->mark_count ? s->marks[keep].at : s->packet.size;
    stn_line rest = {0};
    stn_line_bytes(&rest, s->packet.bytes + cut, s->packet.size - cut);
    if (rest.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a packet");
    }
    size_t moved = s->mark_count - keep;
    s->packet.size = cut;
    stn_status status = packet_end(s, end_ns, err);
    if (!status) {
        uint64_t clock_ns = s->clock_ns;
        packet_begin(s, writer, end_ns);
        size_t head = s->packet.size;
        stn_line_bytes(&s->packet, rest.bytes, rest.size);
        for (size_t i = 0; i < moved; i++) {
            mark m = s->marks[keep + i];
            s->marks[i] = (mark){m.time_ns, m.at - cut + head};
        }
        s->mark_count = moved;
        s->clock_ns = clock_ns;
    }
    stn_line_fini(&rest);
    return status;
}

static uint64_t at_least(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Make the packet that bears the loss: it ends where the loss ends, and the one before it ends,
 * as far as events allow, where the loss begins. */
static stn_status place_loss(ctf_writer *writer, stream *s, uint64_t count, uint64_t begin_ns,
                             uint64_t end_ns, stn_err *err) {
    if (!s->packet.size) {
        packet_begin(s, writer, s->ended ? s->end_ns : begin_ns);
    }
    size_t keep = events_before(s, begin_ns);
    uint64_t cut_ns = at_least(begin_ns, keep ? s->marks[keep - 1].time_ns : s->begin_ns);
    if (keep < s->mark_count && cut_ns > s->marks[keep].time_ns) {
        cut_ns = s->marks[keep].time_ns;
    }
    stn_status status = STN_OK;
    /* What the first packet of a file lost is not counted by readers: an empty one goes before. */
    if (keep || !s->ended || cut_ns > s->end_ns) {
        status = packet_split(writer, s, keep, cut_ns, err);
    }
    if (status) {
        return status;
    }
    s->lost += count;
    if (s->packet.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a packet");
    }
    patch(&s->packet, AT_LOST, s->lost);
    return packet_end(s, end_ns, err);
}

static uint64_t mark_field(const ctf_writer *writer, const stn_event *event, const char *name,
                           uint32_t *id, uint64_t fallback) {
    if (*id == STN_NO_ID) {
        *id = stn_catalog_find(writer->catalog, name);
    }
    const stn_field *field = *id == STN_NO_ID ? NULL : stn_event_field(event, *id);
    return (uint64_t)stn_field_int(field, (int64_t)fallback);
}

static stn_status write_loss(ctf_writer *writer, const stn_event *event, stn_err *err) {
    uint64_t count = mark_field(writer, event, "count", &writer->count_id, 0);
    uint64_t begin_ns = mark_field(writer, event, "begin_ns", &writer->begin_id, event->time_ns);
    uint32_t kind = event->cpu == STN_NO_CPU ? NO_CPU : 0;
    stream *s = NULL;
    for (uint32_t k = kind; k < STREAM_KINDS && !s; k += 2) {
        s = stream_seek(writer, k, event->cpu);
    }
    stn_status status = s ? STN_OK : stream_of(writer, kind, event->cpu, &s, err);
    if (status) {
        return status;
    }
    if (begin_ns > event->time_ns) {
        begin_ns = event->time_ns;
    }
    /* CTF cannot say "some": a loss of unknown size is at least one event. */
    return place_loss(writer, s, count ? count : 1, begin_ns, event->time_ns, err);
}

/* ---- metadata -------------------------------------------------------- */

static const char preamble[] =
    "/* CTF 1.8 */\n\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n\n";

static const char packet_types[] =
    "typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; }"
    " := uint32_clock_monotonic_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; }"
    " := uint64_clock_monotonic_t;\n\n"
    "struct event_header_large {\n"
    "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
    "\tvariant <id> {\n"
    "\t\tstruct {\n\t\t\tuint32_clock_monotonic_t timestamp;\n\t\t} compact;\n"
    "\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n\t\t} extended;\n"
    "\t} v;\n"
    "} align(8);\n\n";

static void tsdl_trace(const ctf_writer *writer, stn_line *out) {
    char uuid[40];
    size_t used = 0;
    for (unsigned i = 0; i < 16; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(uuid + used, sizeof uuid - used, "%s%02x", dash, writer->uuid[i]);
    }
    stn_line_string(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
    stn_line_string(out, uuid);
    stn_line_string(out, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
                         "\t\tuint32_t magic;\n\t\tuint8_t  uuid[16];\n\t\tuint32_t stream_id;\n"
                         "\t\tuint64_t stream_instance_id;\n\t};\n};\n\n");
}

static bool from_tracer(const ctf_writer *writer, const char *name) {
    return strncmp(writer->meta.tracer, name, strlen(name)) == 0;
}

/* Viewers choose the names of events and fields by the tracer's version. */
static void tsdl_env(const ctf_writer *writer, stn_line *out) {
    unsigned major = 2, minor = 13, patch_level = 0;
    bool ust = from_tracer(writer, "lttng-ust");
    if (ust || from_tracer(writer, LTTNG_MODULES)) {
        const char *version = strchr(writer->meta.tracer, ' ');
        if (version && sscanf(version, " %u.%u.%u", &major, &minor, &patch_level) < 2) {
            major = 2, minor = 13;
        }
    }
    char text[256];
    stn_line_string(out, "env {\n\thostname = ");
    stn_tsdl_literal(out, writer->meta.host);
    snprintf(text, sizeof text,
             ";\n\tdomain = \"%s\";\n\tsysname = \"Linux\";\n\ttracer_name = \"%s\";\n"
             "\ttracer_major = %u;\n\ttracer_minor = %u;\n\ttracer_patchlevel = %u;\n"
             "\twriter = \"standin %s\";\n};\n\n",
             ust ? "ust" : "kernel", ust ? "lttng-ust" : LTTNG_MODULES, major, minor, patch_level,
             stn_version());
    stn_line_string(out, text);
}

static void tsdl_clock(const ctf_writer *writer, stn_line *out) {
    stn_line_string(out, "clock {\n\tname = \"monotonic\";\n\tdescription = ");
    stn_tsdl_literal(out, writer->meta.clock[0] ? writer->meta.clock : "Monotonic Clock");
    stn_line_string(out, ";\n\tfreq = 1000000000; /* Frequency, in Hz */\n"
                         "\t/* clock value offset from Epoch is: offset * (1/freq) */\n"
                         "\toffset = ");
    stn_line_u64(out, writer->meta.epoch_ns);
    stn_line_string(out, writer->meta.epoch_ns ? ";\n};\n\n" : ";\n\tabsolute = FALSE;\n};\n\n");
}

static void tsdl_stream(uint32_t kind, stn_line *out) {
    stn_line_string(out, "stream {\n\tid = ");
    stn_line_u64(out, kind);
    stn_line_string(out, ";\n\tevent.header := struct event_header_large;\n"
                         "\tpacket.context := struct {\n"
                         "\t\tuint64_clock_monotonic_t timestamp_begin;\n"
                         "\t\tuint64_clock_monotonic_t timestamp_end;\n"
                         "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
                         "\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n");
    stn_line_string(out, kind & NO_CPU ? "\t};\n" : "\t\tuint32_t cpu_id;\n\t};\n");
    if ((kind & (NO_TID | NO_COMM)) != (NO_TID | NO_COMM)) {
        stn_line_string(out, "\tevent.context := struct {\n");
        if (!(kind & NO_TID)) {
            stn_line_string(out, "\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; "
                                 "base = 10; } _tid;\n");
        }
        stn_line_string(out, kind & NO_COMM ? "" : "\t\tstring _procname;\n");
        stn_line_string(out, "\t};\n");
    }
    stn_line_string(out, "};\n\n");
}

static stn_status write_metadata(const ctf_writer *writer, stn_err *err) {
    stn_line out = {0};
    stn_line_string(&out, preamble);
    tsdl_trace(writer, &out);
    tsdl_env(writer, &out);
    tsdl_clock(writer, &out);
    stn_line_string(&out, packet_types);
    for (uint32_t kind = 0; kind < STREAM_KINDS; kind++) {
        if (writer->stream_counts[kind]) {
            tsdl_stream(kind, &out);
        }
    }
    stn_tsdl_classes_text(&writer->classes, &out);
    stn_status status = out.failed ? stn_err_set(err, STN_ENOMEM, "out of memory for the metadata")
                                   : write_named(writer, "metadata", out.bytes, out.size, err);
    stn_line_fini(&out);
    return status;
}

/* ---- the writer ------------------------------------------------------ */

static void ctf_abort(void *self) {
    ctf_writer *writer = self;
    stn_outdir_abort(writer->temporary);
    stn_free(writer->temporary);
    stn_free(writer->path);
    for (uint32_t kind = 0; kind < STREAM_KINDS; kind++) {
        for (size_t i = 0; i < writer->stream_counts[kind]; i++) {
            stream_free(writer->streams[kind][i]);
        }
        stn_free(writer->streams[kind]);
    }
    stn_tsdl_classes_fini(&writer->classes);
    stn_filler_fini(&writer->filler);
    stn_free(writer);
}

static bool folder_is_empty(const char *path) {
    DIR *folder = opendir(path);
    bool empty = folder != NULL;
    for (struct dirent *entry; empty && (entry = readdir(folder));) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    if (folder) {
        closedir(folder);
    }
    return empty;
}

/* What cannot be replaced in the end is refused before the work. */
static stn_status check_target(const char *path, stn_err *err) {
    struct stat stat_of;
    char marker[4096];
    if (lstat(path, &stat_of)) {
        return STN_OK;
    }
    if (!S_ISDIR(stat_of.st_mode)) {
        return stn_err_set(err, STN_EIO, "a file of this name is in the way of the folder");
    }
    int size = snprintf(marker, sizeof marker, "%s/" MARKER, path);
    bool ours = size > 0 && (size_t)size < sizeof marker && access(marker, F_OK) == 0;
    return ours || folder_is_empty(path)
               ? STN_OK
               : stn_err_set(err, STN_EIO,
                             "this folder is there already and was not written by standin; it is "
                             "left as it is");
}

static stn_status ctf_open(void **self, const char *path, const stn_catalog *catalog,
                           const stn_trace_meta *meta, const stn_writer_options *options,
                           stn_err *err) {
    (void)options;
    stn_status status = check_target(path, err);
    if (status) {
        return status;
    }
    ctf_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    writer->meta = *meta;
    writer->classes.catalog = catalog;
    writer->classes.originals =
        from_tracer(writer, LTTNG_MODULES) || from_tracer(writer, "lttng-ust");
    writer->classes.kernel = !from_tracer(writer, "lttng-ust");
    writer->filler.catalog = catalog;
    writer->count_id = STN_NO_ID;
    writer->begin_id = STN_NO_ID;
    writer->path = stn_strdup(path);
    status = writer->path ? stn_outdir_open(path, &writer->temporary, err)
                          : stn_err_set(err, STN_ENOMEM, "out of memory");
    if (status) {
        ctf_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

/* The same for the same trace, so that output can be compared. */
static void make_uuid(ctf_writer *writer, uint64_t first_ns) {
    uint64_t a = stn_hash_u64(first_ns ^ stn_hash_u64(writer->meta.epoch_ns + 1));
    uint64_t b = stn_hash_u64(a + 1);
    for (const char *c = writer->meta.host; *c; c++) {
        a = stn_hash_u64(a ^ (unsigned char)*c);
    }
    memcpy(writer->uuid, &a, 8);
    memcpy(writer->uuid + 8, &b, 8);
    writer->uuid[6] = (unsigned char)((writer->uuid[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    writer->uuid[8] = (unsigned char)((writer->uuid[8] & 0x3f) | 0x80);
    writer->started = true;
}

/* Readers count nanoseconds since 1970 in 64 bits with a sign, libbabeltrace2 the last one out. */
static stn_status check_time(const ctf_writer *writer, uint64_t time_ns, stn_err *err) {
    uint64_t epoch_ns = writer->meta.epoch_ns;
    if (epoch_ns < INT64_MAX && time_ns < INT64_MAX - epoch_ns) {
        return STN_OK;
    }
    return stn_err_set(err, STN_EFORMAT,
                       "an event at %llu ns (the clock's 0 is %llu ns after 1970) is later than "
                       "CTF can say, 292 years",
                       (unsigned long long)time_ns, (unsigned long long)epoch_ns);
}

static stn_status ctf_write(void *self, const stn_event *event, stn_err *err) {
    ctf_writer *writer = self;
    stn_status late = check_time(writer, event->time_ns, err);
    if (late) {
        return late;
    }
    if (!writer->started) {
        make_uuid(writer, event->time_ns);
    }
    if (event->type == STN_TYPE_LOST) {
        return write_loss(writer, event, err);
    }
    stn_slotted seen;
    stn_status status = stn_filler_see(&writer->filler, event, &seen, err);
    if (status) {
        return status;
    }
    uint32_t kind = (event->cpu == STN_NO_CPU ? NO_CPU : 0) |
                    (event->tid == STN_NO_TID ? NO_TID : 0) |
                    (event->comm == STN_NO_ID ? NO_COMM : 0);
    stream *s;
    status = stream_of(writer, kind, event->cpu, &s, err);
    return status ? status : put_event(writer, s, event, &seen, err);
}

static stn_status close_packets(ctf_writer *writer, stn_err *err) {
    stn_status status = STN_OK;
    for (uint32_t kind = 0; kind < STREAM_KINDS; kind++) {
        for (size_t i = 0; i < writer->stream_counts[kind] && !status; i++) {
            stream *s = writer->streams[kind][i];
            if (s && s->packet.size) {
                status = packet_end(s, last_ns(s), err);
            }
        }
    }
    return status;
}

static stn_status ctf_commit(void *self, stn_err *err) {
    ctf_writer *writer = self;
    stn_status status = close_packets(writer, err);
    if (!status) {
        status = write_metadata(writer, err);
    }
    if (!status) {
        status = write_named(writer, MARKER, MARKER_TEXT, sizeof MARKER_TEXT - 1, err);
    }
    if (!status) {
        status = stn_outdir_commit(writer->temporary, writer->path, MARKER, err);
    }
    if (!status) {
        stn_free(writer->temporary);
        writer->temporary = NULL;
    }
    ctf_abort(writer);
    return status;
}

const stn_write_ops stn_write_ctf = {ctf_open, ctf_write, ctf_commit, ctf_abort};
