/* The loop of generating: the kind proposes type and time, the attributes fill in the rest,
 * the rules refuse or agree. What is refused is drawn again: the attributes first, then the
 * type, so the outcome is the model's own distribution restricted to what the rules admit.
 * When the model has no more to say, every type is tried on every CPU, most frequent first;
 * so the loop ends, and something is always handed out. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/model.h"

enum {
    ATTRIBUTE_TRIES = 8,
    NOTHING_TRIES = 3,
    OVERDUE_EVERY = 4,
    SLEEPERS_EVERY = 16,
    TYPE_TRIES = 24
};

struct stn_generator {
    const stn_model *model;
    stn_catalog *catalog;
    stn_checker *checker;
    stn_world world;
    stn_rng rng;
    stn_draft draft;
    stn_event event;
    stn_field fields[STN_VFIELD_MAX];
    stn_generate_stats stats;
    uint64_t *refused; /* [cpu_count][words] types refused at this step */
    uint32_t words;
    uint64_t begin_ns;
    bool unguided;
};

/* ---- setting up ---------------------------------------------------------------------- */

static size_t refused_size(const stn_generator *generator) {
    return (size_t)generator->model->attr.cpu_count * generator->words * sizeof(uint64_t);
}

static stn_status begin(stn_generator *generator, stn_err *err) {
    const stn_model *model = generator->model;
    generator->words = (model->vocab.type_count + 63) / 64;
    generator->refused = stn_calloc(1, refused_size(generator));
    if (!generator->refused) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    stn_status status = stn_world_init(&generator->world, &model->vocab, &model->domains,
                                       &model->attr.slots, model->attr.cpu_count);
    if (status == STN_OK) {
        generator->world.now_ns = generator->begin_ns;
        status = stn_attr_begin(&model->attr, &generator->world, &generator->rng);
    }
    if (status != STN_OK) {
        return stn_err_set(err, status, "out of memory for a generator");
    }
    return stn_checker_new(&generator->checker, model->rules, generator->catalog, err);
}

stn_status stn_generator_new(stn_generator **out, const stn_model *model,
                             const stn_generate_options *options, stn_catalog *catalog,
                             stn_err *err) {
    static const stn_generate_options defaults = {0};
    options = options ? options : &defaults;
    *out = NULL;
    if (catalog != model->catalog) {
        return stn_err_set(err, STN_ERANGE, "the generator's catalog is not that of its model");
    }
    stn_generator *generator = stn_calloc(1, sizeof *generator);
    if (!generator) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    generator->model = model;
    generator->catalog = catalog;
    generator->unguided = options->unguided;
    generator->begin_ns = options->begin_ns;
    stn_rng_init(&generator->rng, options->seed);
    stn_status status = begin(generator, err);
    if (status != STN_OK) {
        stn_generator_free(generator);
        return status;
    }
    *out = generator;
    return STN_OK;
}

void stn_generator_free(stn_generator *generator) {
    if (generator) {
        stn_checker_free(generator->checker);
        stn_world_fini(&generator->world);
        stn_free(generator->refused);
        stn_free(generator);
    }
}

void stn_generator_stats(const stn_generator *generator, stn_generate_stats *stats) {
    *stats = generator->stats;
}

/* ---- events ----------------------------------------------------------------------------- */

static void field_from(const stn_vocab *vocab, stn_field *field, const stn_val *val) {
    field->kind = val->kind;
    switch (val->kind) {
    case STN_FIELD_STR:
        field->v.s = stn_catalog_text(vocab->catalog, vocab->text_catalog[val->v]);
        break;
    case STN_FIELD_REAL:
        memcpy(&field->v.f, &val->v, sizeof field->v.f);
        break;
    default:
        field->v.i = val->v;
        break;
    }
}

static void event_from(stn_generator *generator) {
    const stn_vocab *vocab = &generator->model->vocab;
    const stn_draft *draft = &generator->draft;
    const stn_vtype *type = &vocab->types[draft->type];
    stn_event *event = &generator->event;
    *event = (stn_event){.time_ns = draft->time_ns,
                         .type = type->catalog_type,
                         .tid = draft->tid,
                         .cpu = draft->cpu,
                         .fields = generator->fields};
    event->comm = draft->comm == STN_WORLD_NONE ? STN_NO_ID : vocab->text_catalog[draft->comm];
    for (uint16_t i = 0; i < draft->val_count; i++) {
        if (draft->vals[i].kind != STN_VAL_NONE) {
            stn_field *field = &generator->fields[event->field_count++];
            field->name = vocab->text_catalog[type->fields[i].name];
            field_from(vocab, field, &draft->vals[i]);
        }
    }
}

/* Fill in attributes until the rules agree. */
static stn_status try_attributes(stn_generator *generator, int tries, bool *agreed) {
    int nothing = 0;
    *agreed = false;
    for (int i = 0; i < tries; i++) {
        if (!stn_attr_propose(&generator->model->attr, &generator->world, (uint32_t)i,
                              &generator->draft, &generator->rng)) {
            generator->stats.rejected++;
            if (++nothing == NOTHING_TRIES) {
                return STN_OK;
            }
            continue;
        }
        event_from(generator);
        stn_status status = stn_checker_try(generator->checker, &generator->event, NULL);
        if (status != STN_ECHECK) {
            *agreed = status == STN_OK;
            return status;
        }
        generator->stats.rejected++;
    }
    return STN_OK;
}

/* Every type on every CPU: the last resort. */
static stn_status try_everything(stn_generator *generator, bool *agreed) {
    const stn_world *world = &generator->world;
    for (uint16_t rank = 0; rank < world->cpu_count; rank++) {
        for (uint32_t type = 0; type < world->vocab->type_count; type++) {
            generator->draft.cpu = world->ranks[rank];
            generator->draft.type = type;
            stn_status status = try_attributes(generator, ATTRIBUTE_TRIES, agreed);
            if (status != STN_OK || *agreed) {
                return status;
            }
        }
    }
    return STN_OK;
}

static stn_status step_unchecked(stn_generator *generator, stn_err *err) {
    stn_draft *draft = &generator->draft;
    for (int i = 0; i < TYPE_TRIES; i++) {
        generator->model->kind->propose(generator->model, &generator->world, &generator->rng,
                                        (uint32_t)i, generator->refused, draft);
        if (stn_attr_propose(&generator->model->attr, &generator->world, 0, draft,
                             &generator->rng)) {
            break;
        }
        /* the fields drawn so far stand; the others are missing */
    }
    event_from(generator);
    uint32_t violations = 0;
    stn_status status = stn_checker_step(generator->checker, &generator->event, &violations, err);
    generator->stats.violations += violations;
    return status;
}

/* Make the draft one of a type with @p role. */
static void force_role(stn_generator *generator, uint16_t cpu, stn_role role) {
    const stn_vocab *vocab = &generator->model->vocab;
    uint32_t thread = generator->world.cpus[cpu].thread;
    bool idle = thread == STN_WORLD_NONE || generator->world.threads[thread].tid == 0;
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        const stn_vtype *type = &vocab->types[t];
        bool preempts = type->split_field < 0 ||
                        stn_world_leaving(&generator->world, &type->split_val) == STN_LEAVES_READY;
        if (type->role == role && (role != STN_ROLE_SWITCH || idle || preempts)) {
            generator->draft.type = t;
            generator->draft.cpu = cpu;
            return;
        }
    }
}

/* Instead of what was proposed, what must happen by now. */
static void force_overdue(stn_generator *generator) {
    const stn_model *model = generator->model;
    stn_world *world = &generator->world;
    stn_draft *draft = &generator->draft;
    uint16_t cpu;
    stn_role role;
    if (generator->stats.events % OVERDUE_EVERY != 0) {
        return;
    }
    if (stn_limits_overdue(&model->attr.limits, world, &cpu, &role)) {
        for (int i = 0; role == STN_ROLE_NONE && i < TYPE_TRIES && draft->cpu != cpu; i++) {
            model->kind->propose(model, world, &generator->rng, 0, generator->refused, draft);
        }
        if (role != STN_ROLE_NONE) {
            force_role(generator, cpu, role);
        }
    } else if (generator->stats.events % SLEEPERS_EVERY == 0 &&
               stn_attr_overdue(&model->attr, world) != STN_WORLD_NONE) {
        force_role(generator, draft->cpu, STN_ROLE_WAKING);
    }
}

static void refuse(stn_generator *generator) {
    uint64_t *set = generator->refused + (size_t)generator->draft.cpu * generator->words;
    set[generator->draft.type / 64] |= UINT64_C(1) << generator->draft.type % 64;
}

static stn_status step_guided(stn_generator *generator, stn_err *err) {
    bool agreed = false, clean = true;
    stn_status status = STN_OK;
    for (int i = 0; i < TYPE_TRIES && status == STN_OK && !agreed; i++) {
        generator->model->kind->propose(generator->model, &generator->world, &generator->rng,
                                        (uint32_t)i, generator->refused, &generator->draft);
        if (i == 0) {
            force_overdue(generator);
        }
        status = try_attributes(generator, ATTRIBUTE_TRIES, &agreed);
        if (!agreed) {
            refuse(generator);
            clean = false;
        }
    }
    if (!clean) {
        memset(generator->refused, 0, refused_size(generator));
    }
    if (status == STN_OK && !agreed) {
        status = try_everything(generator, &agreed);
    }
    if (status == STN_OK && !agreed) {
        return step_unchecked(generator, err);
    }
    return status == STN_OK ? status : stn_err_set(err, status, "out of memory while generating");
}

stn_status stn_generator_next(stn_generator *generator, stn_event *event, stn_err *err) {
    stn_status status =
        generator->unguided ? step_unchecked(generator, err) : step_guided(generator, err);
    if (status != STN_OK) {
        return status;
    }
    if (stn_world_apply(&generator->world, &generator->draft) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory while generating");
    }
    generator->stats.events++;
    *event = generator->event;
    return STN_OK;
}
