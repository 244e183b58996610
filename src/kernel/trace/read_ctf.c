/* CTF 1.8 through libbabeltrace2: one source.ctf.fs per trace found below the path, merged by
 * filter.utils.muxer into a sink of ours that hands the messages over in batches.
 *
 * Time is that of the trace's clock; its offset to 1970 is kept in the meta data. Messages about
 * discarded events come when the loss begins, a mark stands where it ends: marks wait in a list
 * until an event is later. */
#include <babeltrace2/babeltrace.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/format.h"
#include "kernel/trace/guard.h"
#include "kernel/trace/read_ctf_event.h"
#include "kernel/trace/read_mark.h"
#include "kernel/trace/read_thread.h"

#define DEPTH_MAX 16

/* A loss that is told when its end has come. */
typedef struct pending {
    const bt_stream *stream; /* only to be compared */
    stn_loss loss;
    uint64_t end_ns;
} pending;

typedef struct ctf_reader {
    stn_catalog *catalog;
    stn_trace_meta *meta;
    bt_graph *graph;
    const bt_component_filter *muxer;
    uint64_t input_count; /* ports of the muxer that are connected */
    char **folders;       /* [folder_count] traces */
    size_t folder_count;
    size_t folder_capacity;
    bt_message_array_const batch;
    uint64_t batch_count;
    uint64_t batch_at;
    const bt_message *held; /* its event is lent or waits behind marks */
    bool waits;
    stn_event event; /* of held */
    bool over;
    int64_t base_ns; /* taken off every time */
    bool based;
    stn_map cpus; /* address of a bt_stream -> CPU of its packet + 1 */
    stn_ctf_events events;
    stn_threads threads;
    stn_marks marks;
    pending *losses; /* [loss_count] */
    size_t loss_count;
    size_t loss_capacity;
} ctf_reader;

/* ---- errors ---------------------------------------------------------- */

/* What the library says of its last error: the cause that lies deepest. */
static stn_status library_error(stn_err *err, const char *doing) {
    const bt_error *error = bt_current_thread_take_error();
    if (!error) {
        return stn_err_set(err, STN_EFORMAT, "%s", doing);
    }
    const bt_error_cause *cause =
        bt_error_get_cause_count(error) ? bt_error_borrow_cause_by_index(error, 0) : NULL;
    stn_status status =
        stn_err_set(err, STN_EFORMAT, "%s: %s", doing,
                    cause ? bt_error_cause_get_message(cause) : "libbabeltrace2 does not say why");
    bt_error_release(error);
    for (char *c = err ? err->text : NULL; c && *c; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    return status;
}

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for a CTF trace");
}

/* ---- finding traces -------------------------------------------------- */

static bool is_trace(const char *folder) {
    char path[4096];
    struct stat stat_of;
    int size = snprintf(path, sizeof path, "%s/metadata", folder);
    return size < (int)sizeof path && stat(path, &stat_of) == 0 && S_ISREG(stat_of.st_mode);
}

typedef bool (*found_fn)(void *user, const char *folder);

/* Call @p found for every trace at or below @p folder until it returns false. */
static bool walk(const char *folder, int depth, found_fn found, void *user) {
    if (is_trace(folder) && !found(user, folder)) {
        return false;
    }
    struct dirent **names = NULL;
    int count = depth < DEPTH_MAX ? scandir(folder, &names, NULL, alphasort) : 0;
    bool go_on = true;
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat stat_of;
        int size = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (go_on && names[i]->d_name[0] != '.' && size < (int)sizeof path &&
            lstat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
            go_on = walk(path, depth + 1, found, user);
        }
        free(names[i]);
    }
    free(names);
    return go_on;
}

static bool stop_at_first(void *user, const char *folder) {
    (void)user;
    (void)folder;
    return false;
}

static bool remember(void *user, const char *folder) {
    ctf_reader *reader = user;
    char *copy = stn_strdup(folder);
    if (!copy || stn_grow(&reader->folders, &reader->folder_capacity, reader->folder_count + 1,
                          sizeof *reader->folders)) {
        stn_free(copy);
        return false;
    }
    reader->folders[reader->folder_count++] = copy;
    return true;
}

#define CTF_TEXT "/* CTF 1.8"

/* Metadata are packets, of either byte order, or text. */
static bool metadata_begins(const unsigned char *head, size_t size) {
    static const unsigned char big[] = {0x75, 0xd1, 0x1d, 0x57},
                               little[] = {0x57, 0x1d, 0xd1, 0x75};
    if (size >= 4 && (memcmp(head, big, 4) == 0 || memcmp(head, little, 4) == 0)) {
        return true;
    }
    return size >= sizeof CTF_TEXT - 1 && memcmp(head, CTF_TEXT, sizeof CTF_TEXT - 1) == 0;
}

static uint64_t packet_size(const unsigned char *head, size_t at) {
    const unsigned char *bits = head + at;
    uint32_t value =
        head[0] == 0x75
            ? (uint32_t)bits[0] << 24 | (uint32_t)bits[1] << 16 | (uint32_t)bits[2] << 8 | bits[3]
            : (uint32_t)bits[3] << 24 | (uint32_t)bits[2] << 16 | (uint32_t)bits[1] << 8 | bits[0];
    return value / 8;
}

/* Packets of metadata from the beginning of @p file to its end. Their head (CTF 1.8.3, 7.1.1):
 * magic, uuid[16], checksum, content size and packet size in bits, 5 bytes more; at 24 and 28
 * are the sizes. libbabeltrace2 2.0.4 reads on for ever in a packet that is cut short. */
static stn_status check_packets(FILE *file, const char *path, stn_err *err) {
    unsigned char head[37];
    struct stat stat_of;
    if (fstat(fileno(file), &stat_of)) {
        return stn_err_set(err, STN_EIO, "%s: cannot be read", path);
    }
    uint64_t end = (uint64_t)stat_of.st_size;
    for (uint64_t at = 0; at < end;) {
        if (end - at < sizeof head || fseeko(file, (off_t)at, SEEK_SET) ||
            fread(head, 1, sizeof head, file) != sizeof head) {
            return stn_err_set(err, STN_EFORMAT, "%s: cut short: a packet's head at offset %llu",
                               path, (unsigned long long)at);
        }
        uint64_t content = packet_size(head, 24);
        uint64_t size = packet_size(head, 28);
        if (content < sizeof head || size < content) {
            return stn_err_set(err, STN_EFORMAT,
                               "%s: the packet at offset %llu says %llu bytes, %llu of them "
                               "used, which cannot be",
                               path, (unsigned long long)at, (unsigned long long)size,
                               (unsigned long long)content);
        }
        if (size > end - at) {
            return stn_err_set(err, STN_EFORMAT,
                               "%s: cut short: the packet at offset %llu takes %llu bytes, but "
                               "the file has %llu",
                               path, (unsigned long long)at, (unsigned long long)size,
                               (unsigned long long)end);
        }
        at += size;
    }
    return STN_OK;
}

/* A metadata file that is empty, neither packets nor text, or cut short is told before the
 * library is asked, whose message would not name it. */
static stn_status check_metadata(const char *folder, stn_err *err) {
    char path[4096];
    unsigned char head[512];
    snprintf(path, sizeof path, "%s/metadata", folder);
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_err_set(err, STN_EIO, "%s: cannot be opened", path);
    }
    size_t size = fread(head, 1, sizeof head, file);
    stn_status status = STN_OK;
    if (size == 0) {
        status = stn_err_set(err, STN_EFORMAT, "%s: the file is empty (0 bytes)", path);
    } else if (!metadata_begins(head, size)) {
        status = stn_err_set(err, STN_EFORMAT,
                             "%s: begins neither with the magic 0x75d11d57 nor with '" CTF_TEXT "'",
                             path);
    } else if (head[0] != CTF_TEXT[0]) {
        status = check_packets(file, path, err);
    }
    fclose(file);
    return status;
}

/* ---- the graph ------------------------------------------------------- */

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *iterator, void *user) {
    ctf_reader *reader = user;
    reader->batch_at = 0;
    reader->batch_count = 0;
    switch (bt_message_iterator_next(iterator, &reader->batch, &reader->batch_count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_ERROR:
        break;
    }
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

static const bt_plugin *plugin_find(const char *name) {
    const bt_plugin *plugin = NULL;
    if (bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
        BT_PLUGIN_FIND_STATUS_OK) {
        bt_current_thread_clear_error();
        return NULL;
    }
    return plugin;
}

/* Connect every port of @p source to a port of the muxer. */
static bool connect_source(ctf_reader *reader, const bt_component_source *source) {
    uint64_t count = bt_component_source_get_output_port_count(source);
    for (uint64_t i = 0; i < count; i++) {
        const bt_port_output *out =
            bt_component_source_borrow_output_port_by_index_const(source, i);
        const bt_port_input *in = bt_component_filter_borrow_input_port_by_index_const(
            reader->muxer, reader->input_count);
        if (bt_graph_connect_ports(reader->graph, out, in, NULL) !=
            BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
            return false;
        }
        reader->input_count++;
    }
    return true;
}

static stn_status add_source(ctf_reader *reader, const bt_component_class_source *class,
                             size_t index, stn_err *err) {
    char name[32];
    const bt_component_source *source = NULL;
    stn_status status = check_metadata(reader->folders[index], err);
    if (status) {
        return status;
    }
    bt_value *params = bt_value_map_create();
    bt_value *inputs = NULL;
    snprintf(name, sizeof name, "source%zu", index);
    bool good = params &&
                bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
                    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
                bt_value_array_append_string_element(inputs, reader->folders[index]) ==
                    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK;
    if (!good) {
        status = no_memory(err);
    } else if (bt_graph_add_source_component(reader->graph, class, name, params,
                                             BT_LOGGING_LEVEL_NONE,
                                             &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
               !connect_source(reader, source)) {
        status = library_error(
            err, "libbabeltrace2 does not understand the metadata or a stream's beginning");
        if (reader->folder_count > 1) {
            status = stn_err_prepend(err, status, "%s", reader->folders[index]);
        }
    }
    bt_value_put_ref(params);
    return status;
}

static stn_status connect_sink(ctf_reader *reader, stn_err *err) {
    const bt_component_sink *sink = NULL;
    const bt_port_output *out =
        bt_component_filter_borrow_output_port_by_index_const(reader->muxer, 0);
    if (bt_graph_add_simple_sink_component(reader->graph, "sink", NULL, sink_consume, NULL, reader,
                                           &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
        bt_graph_connect_ports(reader->graph, out,
                               bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                               NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
        return library_error(err, "libbabeltrace2 cannot merge the streams");
    }
    return STN_OK;
}

static stn_status build_with(ctf_reader *reader, const bt_plugin *ctf, const bt_plugin *utils,
                             stn_err *err) {
    const bt_component_class_source *fs =
        bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
    const bt_component_class_filter *muxer =
        bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
    reader->graph = bt_graph_create(0);
    if (!fs || !muxer || !reader->graph ||
        bt_graph_add_filter_component(reader->graph, muxer, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
                                      &reader->muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK) {
        return library_error(err, "libbabeltrace2 cannot make its graph");
    }
    for (size_t i = 0; i < reader->folder_count; i++) {
        stn_status status = add_source(reader, fs, i, err);
        if (status) {
            return status;
        }
    }
    if (reader->input_count == 0) {
        reader->over = true; /* metadata without streams: a trace without events */
        return STN_OK;
    }
    return connect_sink(reader, err);
}

/* The library ended what it did: nothing of it is touched again. */
static stn_status gave_up(ctf_reader *reader, stn_err *err) {
    reader->graph = NULL;
    reader->held = NULL;
    reader->batch_count = reader->batch_at = 0;
    reader->over = true;
    return stn_err_set(err, STN_EFORMAT,
                       "the trace is damaged: libbabeltrace2 gave up on the head of a packet");
}

typedef struct building {
    ctf_reader *reader;
    const bt_plugin *ctf, *utils;
    stn_err *err;
    stn_status status;
} building;

static void build_guarded(void *self) {
    building *what = self;
    what->status = build_with(what->reader, what->ctf, what->utils, what->err);
}

static stn_status build_graph(ctf_reader *reader, stn_err *err) {
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    const bt_plugin *ctf = plugin_find("ctf");
    const bt_plugin *utils = plugin_find("utils");
    building what = {reader, ctf, utils, err, STN_OK};
    if (!ctf || !utils) {
        what.status =
            stn_err_set(err, STN_EUNSUPPORTED, "libbabeltrace2 has no plugin 'ctf' or no 'utils'");
    } else if (!stn_guard(build_guarded, &what)) {
        return gave_up(reader, err);
    }
    bt_plugin_put_ref(utils);
    bt_plugin_put_ref(ctf);
    return what.status;
}

/* ---- messages -------------------------------------------------------- */

typedef struct running {
    bt_graph *graph;
    bt_graph_run_once_status status;
} running;

static void run_guarded(void *self) {
    running *what = self;
    what->status = bt_graph_run_once(what->graph);
}

static stn_status next_message(ctf_reader *reader, const bt_message **message, stn_err *err) {
    while (reader->batch_at == reader->batch_count) {
        reader->batch_count = 0;
        reader->batch_at = 0;
        if (reader->over) {
            return STN_END;
        }
        running what = {reader->graph, BT_GRAPH_RUN_ONCE_STATUS_ERROR};
        if (!stn_guard(run_guarded, &what)) {
            return gave_up(reader, err);
        }
        switch (what.status) {
        case BT_GRAPH_RUN_ONCE_STATUS_OK:
        case BT_GRAPH_RUN_ONCE_STATUS_AGAIN:
            break;
        case BT_GRAPH_RUN_ONCE_STATUS_END:
            reader->over = true;
            break;
        case BT_GRAPH_RUN_ONCE_STATUS_MEMORY_ERROR:
            bt_current_thread_clear_error();
            reader->over = true;
            return no_memory(err);
        case BT_GRAPH_RUN_ONCE_STATUS_ERROR:
            reader->over = true;
            return library_error(err, "the trace is damaged");
        }
    }
    *message = reader->batch[reader->batch_at++];
    return STN_OK;
}

static void copy_text(char *to, size_t size, const bt_value *value) {
    if (value && bt_value_is_string(value)) {
        snprintf(to, size, "%s", bt_value_string_get(value));
    }
}

/* "lttng-modules 2.13" */
static void copy_tracer(stn_trace_meta *meta, const bt_trace *trace) {
    copy_text(meta->tracer, sizeof meta->tracer - 24,
              bt_trace_borrow_environment_entry_value_by_name_const(trace, "tracer_name"));
    const bt_value *major =
        bt_trace_borrow_environment_entry_value_by_name_const(trace, "tracer_major");
    const bt_value *minor =
        bt_trace_borrow_environment_entry_value_by_name_const(trace, "tracer_minor");
    size_t used = strlen(meta->tracer);
    if (used && major && minor && bt_value_is_signed_integer(major) &&
        bt_value_is_signed_integer(minor)) {
        snprintf(meta->tracer + used, sizeof meta->tracer - used, " %lld.%lld",
                 (long long)bt_value_integer_signed_get(major),
                 (long long)bt_value_integer_signed_get(minor));
    }
}

static void stream_begins(ctf_reader *reader, const bt_message *message) {
    const bt_trace *trace =
        bt_stream_borrow_trace_const(bt_message_stream_beginning_borrow_stream_const(message));
    stn_trace_meta *meta = reader->meta;
    if (!*meta->tracer) {
        copy_tracer(meta, trace);
    }
    const bt_value *release =
        bt_trace_borrow_environment_entry_value_by_name_const(trace, "kernel_release");
    if (!release) {
        release = bt_trace_borrow_environment_entry_value_by_name_const(trace, "release");
    }
    if (release && bt_value_is_string(release)) {
        reader->events.state_limit = stn_task_state_limit(bt_value_string_get(release));
    }
    if (!*meta->host) {
        copy_text(meta->host, sizeof meta->host,
                  bt_trace_borrow_environment_entry_value_by_name_const(trace, "hostname"));
    }
}

static stn_status packet_begins(ctf_reader *reader, const bt_message *message, stn_err *err) {
    const bt_packet *packet = bt_message_packet_beginning_borrow_packet_const(message);
    const bt_stream *stream = bt_packet_borrow_stream_const(packet);
    uint64_t cpu;
    if (!stn_ctf_member(bt_packet_borrow_context_field_const(packet), "cpu_id", &cpu) ||
        cpu >= STN_NO_CPU) {
        return STN_OK;
    }
    uint64_t *slot = stn_map_put(&reader->cpus, (uint64_t)(uintptr_t)stream, NULL);
    if (!slot) {
        return no_memory(err);
    }
    *slot = cpu + 1;
    /* What the first packet lost was told before it. */
    for (size_t i = 0; i < reader->loss_count; i++) {
        if (reader->losses[i].stream == stream) {
            reader->losses[i].loss.cpu = (uint16_t)cpu;
        }
    }
    return STN_OK;
}

static uint16_t stream_cpu(const ctf_reader *reader, const bt_stream *stream) {
    const uint64_t *cpu = stn_map_get(&reader->cpus, (uint64_t)(uintptr_t)stream);
    return cpu ? (uint16_t)(*cpu - 1) : STN_NO_CPU;
}

/* The first clock says what is taken off every time so that it counts as the clock does. */
static void take_base(ctf_reader *reader, const bt_clock_class *clock) {
    int64_t seconds;
    uint64_t cycles;
    uint64_t frequency = bt_clock_class_get_frequency(clock);
    const char *name = bt_clock_class_get_name(clock);
    reader->based = true;
    snprintf(reader->meta->clock, sizeof reader->meta->clock, "%s", name ? name : "");
    bt_clock_class_get_offset(clock, &seconds, &cycles);
    if (!bt_clock_class_origin_is_unix_epoch(clock) || seconds < 0 || seconds > 9000000000 ||
        frequency == 0) {
        return;
    }
    double part = (double)cycles * 1e9 / (double)frequency;
    reader->base_ns =
        seconds * 1000000000 + (frequency == 1000000000 ? (int64_t)cycles : (int64_t)part);
    reader->meta->epoch_ns = (uint64_t)reader->base_ns;
}

static stn_status snapshot_time(ctf_reader *reader, const bt_clock_snapshot *snapshot,
                                uint64_t *time_ns, stn_err *err) {
    int64_t ns;
    if (bt_clock_snapshot_get_ns_from_origin(snapshot, &ns) !=
        BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
        bt_current_thread_clear_error();
        return stn_err_set(err, STN_EFORMAT, "a time that does not fit 64 bits of nanoseconds");
    }
    if (!reader->based) {
        take_base(reader, bt_clock_snapshot_borrow_clock_class_const(snapshot));
    }
    if (ns < reader->base_ns) {
        return stn_err_set(err, STN_EFORMAT, "a time before the clock's beginning");
    }
    *time_ns = (uint64_t)(ns - reader->base_ns);
    return STN_OK;
}

static stn_status add_loss(ctf_reader *reader, const bt_stream *stream, uint64_t count,
                           const bt_clock_snapshot *from, const bt_clock_snapshot *to,
                           stn_err *err) {
    pending next = {.stream = stream,
                    .loss = {.count = count, .cpu = stream_cpu(reader, stream)},
                    .end_ns = reader->event.time_ns};
    stn_status status = STN_OK;
    if (from) {
        status = snapshot_time(reader, from, &next.loss.begin_ns, err);
    }
    if (!status && to) {
        status = snapshot_time(reader, to, &next.end_ns, err);
    }
    if (status) {
        return status;
    }
    if (stn_grow(&reader->losses, &reader->loss_capacity, reader->loss_count + 1,
                 sizeof *reader->losses)) {
        return no_memory(err);
    }
    reader->losses[reader->loss_count++] = next;
    /* From the loss's beginning on nobody knows who runs there, until a switch says it. */
    stn_threads_forget(&reader->threads, next.loss.cpu);
    return STN_OK;
}

static stn_status events_discarded(ctf_reader *reader, const bt_message *message, stn_err *err) {
    const bt_stream *stream = bt_message_discarded_events_borrow_stream_const(message);
    const bt_stream_class *class = bt_stream_borrow_class_const(stream);
    bool timed = bt_stream_class_discarded_events_have_default_clock_snapshots(class);
    uint64_t count = 0;
    if (bt_message_discarded_events_get_count(message, &count) !=
        BT_PROPERTY_AVAILABILITY_AVAILABLE) {
        count = 0;
    }
    return add_loss(
        reader, stream, count,
        timed ? bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message)
              : NULL,
        timed ? bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message) : NULL,
        err);
}

/* How many events were in lost packets nobody knows. */
static stn_status packets_discarded(ctf_reader *reader, const bt_message *message, stn_err *err) {
    const bt_stream *stream = bt_message_discarded_packets_borrow_stream_const(message);
    const bt_stream_class *class = bt_stream_borrow_class_const(stream);
    bool timed = bt_stream_class_discarded_packets_have_default_clock_snapshots(class);
    return add_loss(
        reader, stream, 0,
        timed ? bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message)
              : NULL,
        timed ? bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message)
              : NULL,
        err);
}

static stn_status take_event(ctf_reader *reader, const bt_message *message, stn_err *err) {
    const bt_event *event = bt_message_event_borrow_event_const(message);
    const bt_stream *stream = bt_event_borrow_stream_const(event);
    const bt_stream_class *class = bt_stream_borrow_class_const(stream);
    stn_event *out = &reader->event;
    uint64_t time_ns = out->time_ns;
    stn_status status = STN_OK;
    if (bt_stream_class_borrow_default_clock_class_const(class)) {
        status = snapshot_time(
            reader, bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns, err);
    }
    if (status) {
        return status;
    }
    *out = (stn_event){.time_ns = time_ns,
                       .tid = STN_NO_TID,
                       .comm = STN_NO_ID,
                       .cpu = stream_cpu(reader, stream)};
    return stn_ctf_decode(&reader->events, event, out, err);
}

static void drop_held(ctf_reader *reader) {
    if (reader->held) {
        bt_message_put_ref(reader->held);
        reader->held = NULL;
    }
    reader->waits = false;
}

/* Read on to the next event and hold it. */
static stn_status hold_event(ctf_reader *reader, stn_err *err) {
    drop_held(reader);
    for (;;) {
        const bt_message *message = NULL;
        stn_status status = next_message(reader, &message, err);
        if (status) {
            return status;
        }
        switch (bt_message_get_type(message)) {
        case BT_MESSAGE_TYPE_EVENT:
            reader->held = message;
            reader->waits = true;
            return take_event(reader, message, err);
        case BT_MESSAGE_TYPE_STREAM_BEGINNING:
            stream_begins(reader, message);
            break;
        case BT_MESSAGE_TYPE_PACKET_BEGINNING:
            status = packet_begins(reader, message, err);
            break;
        case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
            status = events_discarded(reader, message, err);
            break;
        case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
            status = packets_discarded(reader, message, err);
            break;
        case BT_MESSAGE_TYPE_STREAM_END:
        case BT_MESSAGE_TYPE_PACKET_END:
        case BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY:
            break;
        }
        bt_message_put_ref(message);
        if (status) {
            return status;
        }
    }
}

/* The loss that ends first, if it ends by @p time_ns; at the end of the trace any. */
static bool due_loss(ctf_reader *reader, uint64_t time_ns, bool at_end, pending *out) {
    size_t first = 0;
    for (size_t i = 1; i < reader->loss_count; i++) {
        if (reader->losses[i].end_ns < reader->losses[first].end_ns) {
            first = i;
        }
    }
    if (reader->loss_count == 0 || (!at_end && reader->losses[first].end_ns > time_ns)) {
        return false;
    }
    *out = reader->losses[first];
    reader->losses[first] = reader->losses[--reader->loss_count];
    return true;
}

/* ---- the format's row ------------------------------------------------ */

static stn_status ctf_next(void *self, stn_event *event, stn_err *err) {
    ctf_reader *reader = self;
    stn_status status = reader->waits ? STN_OK : hold_event(reader, err);
    if (status && status != STN_END) {
        return status;
    }
    pending due;
    if (due_loss(reader, reader->event.time_ns, status == STN_END, &due)) {
        stn_threads_forget(&reader->threads, due.loss.cpu);
        stn_status added = stn_marks_add_from(&reader->marks, due.loss, err);
        return added ? added
                     : stn_marks_take(&reader->marks, reader->catalog, due.end_ns, event, err);
    }
    if (status) {
        return status;
    }
    status = stn_threads_apply(&reader->threads, &reader->event, err);
    *event = reader->event;
    reader->waits = false;
    return status;
}

static void ctf_close(void *self) {
    ctf_reader *reader = self;
    if (!reader) {
        return;
    }
    drop_held(reader);
    while (reader->batch_at < reader->batch_count) {
        bt_message_put_ref(reader->batch[reader->batch_at++]);
    }
    stn_ctf_events_fini(&reader->events);
    bt_graph_put_ref(reader->graph);
    for (size_t i = 0; i < reader->folder_count; i++) {
        stn_free(reader->folders[i]);
    }
    stn_free(reader->folders);
    stn_free(reader->losses);
    stn_map_fini(&reader->cpus);
    stn_threads_fini(&reader->threads);
    stn_marks_fini(&reader->marks);
    stn_free(reader);
}

static stn_status ctf_open(void **self, const char *path, stn_catalog *catalog,
                           stn_trace_meta *meta, stn_err *err) {
    ctf_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return no_memory(err);
    }
    reader->catalog = catalog;
    reader->meta = meta;
    reader->events.catalog = catalog;
    stn_status status = stn_threads_init(&reader->threads, catalog, err);
    if (!status && !walk(path, 0, remember, reader)) {
        status = no_memory(err);
    }
    struct stat stat_of;
    if (!status && stat(path, &stat_of) == 0 && !S_ISDIR(stat_of.st_mode)) {
        status = stn_err_set(err, STN_EFORMAT,
                             "this is a file; a CTF trace is the folder that holds its 'metadata' "
                             "and streams");
    }
    if (!status && reader->folder_count == 0) {
        status = stn_err_set(err, STN_EFORMAT,
                             "no CTF trace: no file 'metadata' in this folder or below it");
    }
    if (!status) {
        status = build_graph(reader, err);
    }
    if (status) {
        ctf_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

static int ctf_probe(const stn_probe *probe) {
    if (!probe->is_folder) {
        /* The metadata of a trace instead of its folder: recognised so that open can say it. */
        return metadata_begins((const unsigned char *)probe->head, probe->head_size) ? 95 : 0;
    }
    return walk(probe->path, 0, stop_at_first, NULL) ? 0 : 95;
}

const stn_read_ops stn_read_ctf = {ctf_probe, ctf_open, ctf_next, ctf_close};
