/* Missing stretches made by a model: where the marks say, no more than they say, on their CPU
 * alone, and what stands around them stays. */
#include "synth_model.h"

enum { BEGIN = 4000, END = 4800, ALL = 6000 };

static lesson *learned;

static int learn(void **state) {
    (void)state;
    learned = lesson_learn(8000);
    return 0;
}

static int forget(void **state) {
    (void)state;
    lesson_end(learned);
    return 0;
}

/* The recording without the events BEGIN … END of @p cpu. @return how many are gone */
static uint64_t harm(uint16_t cpu, stn_trace *out) {
    uint64_t gone = 0;
    stn_err err = {0};
    stn_trace_init(out, learned->catalog);
    for (size_t i = 0; i < ALL; i++) {
        const stn_event *event = &learned->trace.events[i];
        bool lost = i >= BEGIN && i < END && (cpu == STN_NO_CPU || event->cpu == cpu);
        gone += lost;
        if (!lost) {
            assert_int_equal(stn_trace_append(out, event, &err), STN_OK);
        }
    }
    return gone;
}

static void fill(uint16_t cpu) {
    stn_trace in, out;
    stn_err err = {0};
    uint64_t lost = harm(cpu, &in);
    const stn_event *events = learned->trace.events;
    stn_gap gap = {
        .begin_ns = events[BEGIN].time_ns, .end_ns = events[END].time_ns, .cpu = cpu, .lost = lost};
    stn_infill_options options = {.seed = 2};
    stn_trace_init(&out, learned->catalog);
    if (stn_infill(learned->model, &in, &gap, 1, &options, &out, NULL, NULL, &err) != STN_OK) {
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
    fill(STN_NO_CPU);
}

static void one_cpu_is_filled_between_the_events_of_the_other(void **state) {
    (void)state;
    fill(0);
    fill(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cpus_are_filled),
        cmocka_unit_test(one_cpu_is_filled_between_the_events_of_the_other),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
