/* Missing stretches made by a model: where the marks say, no more than they say, on their CPU
 * alone, and what stands around them stays. */
#include "core/base/alloc.h"
#include "synth_model.h"

enum { BEGIN = 4000, END = 4800, ALL = 6000 };

static lesson *learned, *network;

static int learn(void **state) {
    (void)state;
    stn_train_options options = {.kind = "diffusion", .steps = 4, .context = 64};
    learned = lesson_learn(8000);
    network = lesson_learn_as(8000, &options);
    return 0;
}

static int forget(void **state) {
    (void)state;
    lesson_end(learned);
    lesson_end(network);
    return 0;
}

/* The recording without the events BEGIN … END of @p cpu. @return how many are gone */
static uint64_t harm(const lesson *l, uint16_t cpu, stn_trace *out) {
    uint64_t gone = 0;
    stn_err err = {0};
    stn_trace_init(out, l->catalog);
    for (size_t i = 0; i < ALL; i++) {
        const stn_event *event = &l->trace.events[i];
        bool lost = i >= BEGIN && i < END && (cpu == STN_NO_CPU || event->cpu == cpu);
        gone += lost;
        if (!lost) {
            assert_int_equal(stn_trace_append(out, event, &err), STN_OK);
        }
    }
    return gone;
}

static void fill(const lesson *l, uint16_t cpu) {
    stn_trace in, out;
    stn_err err = {0};
    uint64_t lost = harm(l, cpu, &in);
    const stn_event *events = l->trace.events;
    stn_gap gap = {
        .begin_ns = events[BEGIN].time_ns, .end_ns = events[END].time_ns, .cpu = cpu, .lost = lost};
    stn_infill_options options = {.seed = 2};
    stn_trace_init(&out, l->catalog);
    if (stn_infill(l->model, &in, &gap, 1, &options, &out, NULL, NULL, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(lost > 100 && gap.made <= lost && gap.made > lost / 4);
    assert_int_equal(out.count, in.count + gap.made);
    size_t real = 0;
    for (size_t i = 0; i < out.count; i++) {
        const stn_event *event = &out.events[i];
        assert_true(i == 0 || event->time_ns >= out.events[i - 1].time_ns);
        bool same = real < in.count && event->time_ns == in.events[real].time_ns &&
                    event->type == in.events[real].type && event->cpu == in.events[real].cpu;
        real += same;
        if (!same) {
            assert_true(event->time_ns >= gap.begin_ns && event->time_ns < gap.end_ns);
            assert_true(cpu == STN_NO_CPU || event->cpu == cpu);
        }
    }
    assert_int_equal(real, in.count);
    stn_trace_fini(&in);
    stn_trace_fini(&out);
}

static void all_cpus_are_filled(void **state) {
    (void)state;
    fill(learned, STN_NO_CPU);
}

static void one_cpu_is_filled_between_the_events_of_the_other(void **state) {
    (void)state;
    fill(learned, 0);
    fill(learned, 1);
}

static void a_network_fills_too(void **state) {
    (void)state;
    fill(network, STN_NO_CPU);
    fill(network, 1);
}

/* Fail allocation 1, 2, 3 … of filling one short hole: each time ENOMEM, nothing leaks. */
static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    enum { FROM = 200, TO = 260, UNTIL = 300 };
    const lesson *both[] = {learned, network};
    for (size_t k = 0; k < 2; k++) {
        const lesson *l = both[k];
        stn_trace in = l->trace; /* the first of its events, borrowed */
        in.count = UNTIL;
        stn_status status = STN_ENOMEM;
        size_t failures = 0;
        for (uint64_t nth = 1; status != STN_OK && nth < 100000; nth += 1 + nth / 8) {
            stn_gap gap = {.begin_ns = in.events[FROM].time_ns,
                           .end_ns = in.events[TO].time_ns,
                           .cpu = STN_NO_CPU,
                           .replace = true};
            stn_err err = {0};
            stn_trace out;
            stn_trace_init(&out, l->catalog);
            stn_alloc_fail_at(nth);
            status = stn_infill(l->model, &in, &gap, 1, NULL, &out, NULL, NULL, &err);
            stn_alloc_fail_at(0);
            if (status != STN_OK) {
                assert_int_equal(status, STN_ENOMEM);
                assert_true(err.text[0] != '\0');
                failures++;
            }
            stn_trace_fini(&out);
        }
        assert_int_equal(status, STN_OK);
        assert_true(failures > 10);
    }
}

/* Marks are gathered, or there is no memory for them. */
static void gathering_marks_without_memory_is_clean(void **state) {
    (void)state;
    stn_trace in;
    stn_err err = {0};
    harm(learned, STN_NO_CPU, &in);
    in.events[100].type = STN_TYPE_LOST;
    stn_gap *gaps;
    size_t count;
    stn_alloc_fail_at(1);
    assert_int_equal(stn_gaps_marked(&in, &gaps, &count, &err), STN_ENOMEM);
    stn_alloc_fail_at(0);
    assert_null(gaps);
    assert_int_equal(stn_gaps_marked(&in, &gaps, &count, &err), STN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].end_ns, in.events[100].time_ns);
    stn_gaps_free(gaps);
    stn_trace_fini(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cpus_are_filled),
        cmocka_unit_test(one_cpu_is_filled_between_the_events_of_the_other),
        cmocka_unit_test(a_network_fills_too),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(gathering_marks_without_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
