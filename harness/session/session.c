// SPDX-License-Identifier: Apache-2.0
// A run in two phases over the same workers: prove every column, then run every case. Workers take
// the next index of a phase, and what they bring back is told to the observers in index order.
#include "session/session.h"

#include "session/internal.h"
#include "support/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A fast worker may be this far ahead of the slowest case, so that waiting results stay few.
enum { MAX_AHEAD = 256, MAX_JOBS = 256 };

typedef enum point_state { POINT_NEW, POINT_PREPARING, POINT_READY } point_state;

typedef struct point {
    point_state state;
    int64_t n_left; // cases not run yet
    int64_t n_told; // cases the observers heard of
    lg_point_data data;
} point;

typedef struct column {
    lg_arena arena; // owns `why`
    bool done;
    lg_proof proof;
    const char *why;
} column;

typedef struct slot {
    bool done;
    lg_case_run run;
} slot;

typedef struct session {
    const lg_session_options *options;
    lg_plan plan;
    lg_tally tally;
    lg_run_summary *summary;
    pthread_mutex_t lock; // everything below
    pthread_cond_t changed;
    int64_t next_column, told_columns;
    int64_t next_case, told_cases;
    column *columns;
    point *points;
    slot *slots;
    lg_diags *diags;
    bool failed; // a set-up error: nothing more is begun
    const struct worker *first;
} session;

typedef struct worker {
    session *session;
    pthread_t thread;
    lg_device_session *device;
    lg_diags diags; // merged into the session's when the worker ends
} worker;

static bool stopped(const session *s) {
    return s->failed || (s->options->stop && *s->options->stop != 0);
}

static void tell_columns(session *s) {
    while (s->told_columns < s->plan.n_columns && s->columns[s->told_columns].done) {
        const column *c = &s->columns[s->told_columns];
        const lg_plan_column *what = &s->plan.columns[s->told_columns];
        lg_column_proof proof = {.kernel = what->kernel,
                                 .mode = what->mode,
                                 .proven = c->proof == LG_PROOF_PROVEN,
                                 .why = c->why};
        for (int i = 0; c->proof != LG_PROOF_INAPPLICABLE && i < s->options->n_observers; i++) {
            const lg_observer *o = &s->options->observers[i];
            if (o->column_proven) {
                o->column_proven(o->context, &proof);
            }
        }
        s->told_columns++;
    }
}

static void tell_left_out(session *s, const lg_case_result *result) {
    s->summary->n_untaken++;
    for (int i = 0; i < s->options->n_observers; i++) {
        const lg_observer *o = &s->options->observers[i];
        if (o->point_left_out) {
            o->point_left_out(o->context, result);
        }
    }
}

static void tell_case(session *s, int64_t index) {
    slot *done = &s->slots[index];
    point *p = &s->points[s->plan.cases[index].point];
    const lg_plan_point *planned = &s->plan.points[s->plan.cases[index].point];
    bool last = index == planned->first_case + planned->n_cases - 1;
    // A point that no kernel takes must not vanish, unless a filter chose the kernels or modes.
    bool filtered = s->options->kernel_globs.n > 0 || s->options->mode_globs.n > 0;
    if (done->run.absent && last && p->n_told == 0 && !planned->further) {
        if (!filtered || s->options->only_case) {
            done->run.absent = false;
        } else {
            tell_left_out(s, &done->run.result);
        }
    }
    if (done->run.absent) {
        lg_tally_absent(&s->tally, &done->run);
    } else {
        p->n_told++;
        lg_tally_case(&s->tally, &done->run);
        for (int i = 0; i < s->options->n_observers; i++) {
            const lg_observer *o = &s->options->observers[i];
            if (o->case_done) {
                o->case_done(o->context, &done->run.result);
            }
        }
    }
    lg_case_run_free(&done->run);
}

static void tell_cases(session *s) {
    while (s->told_cases < s->plan.n_cases && s->slots[s->told_cases].done) {
        tell_case(s, s->told_cases);
        s->told_cases++;
    }
}

// Phase 1. Every worker stays until the last column is proven: a case may need any of them.
static void prove_columns(worker *w) {
    session *s = w->session;
    pthread_mutex_lock(&s->lock);
    while (!stopped(s) && s->next_column < s->plan.n_columns) {
        int64_t index = s->next_column++;
        pthread_mutex_unlock(&s->lock);
        column *c = &s->columns[index];
        const lg_plan_column *what = &s->plan.columns[index];
        const char *why = NULL;
        lg_proof proof =
            lg_prove_column(w->device, what->kernel, what->mode, &c->arena, &why, &w->diags);
        pthread_mutex_lock(&s->lock);
        c->proof = proof;
        c->why = why;
        c->done = true;
        tell_columns(s);
        pthread_cond_broadcast(&s->changed);
    }
    while (!stopped(s) && s->told_columns < s->plan.n_columns) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

// With the lock held: the point's batch, made by the first worker that needs it.
static const lg_point_data *need_point(worker *w, int64_t index) {
    session *s = w->session;
    point *p = &s->points[index];
    while (p->state == POINT_PREPARING) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    if (p->state == POINT_NEW) {
        p->state = POINT_PREPARING;
        pthread_mutex_unlock(&s->lock);
        lg_point_prepare(s->plan.points[index].scenario, &p->data, &w->diags);
        pthread_mutex_lock(&s->lock);
        p->state = POINT_READY;
        pthread_cond_broadcast(&s->changed);
    }
    return &p->data;
}

static void run_case(worker *w, int64_t index) {
    session *s = w->session;
    const lg_plan_case *planned = &s->plan.cases[index];
    const lg_point_data *data = need_point(w, planned->point);
    const column *c = &s->columns[planned->column];
    const char *failure = c->proof == LG_PROOF_FAILED ? c->why : NULL;
    pthread_mutex_unlock(&s->lock);
    lg_case_run_one(w->device, &planned->what, planned->named, data, failure,
                    s->options->repro_prefix, &s->slots[index].run, &w->diags);
    pthread_mutex_lock(&s->lock);
    s->slots[index].done = true;
    if (--s->points[planned->point].n_left == 0) {
        lg_point_free(&s->points[planned->point].data);
    }
    tell_cases(s);
    pthread_cond_broadcast(&s->changed);
}

// Phase 2.
static void run_cases(worker *w) {
    session *s = w->session;
    pthread_mutex_lock(&s->lock);
    while (!stopped(s) && s->next_case < s->plan.n_cases) {
        if (s->next_case - s->told_cases >= MAX_AHEAD) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        run_case(w, s->next_case++);
    }
    pthread_mutex_unlock(&s->lock);
}

static void tell_compiling(void *context, const char *source) {
    const session *s = context;
    for (int i = 0; i < s->options->n_observers; i++) {
        const lg_observer *o = &s->options->observers[i];
        if (o->compiling) {
            o->compiling(o->context, source);
        }
    }
}

// Opens the worker's device and loads every kernel of the plan, so that all errors come at once.
static bool open_worker(worker *w) {
    session *s = w->session;
    const lg_session_options *o = s->options;
    w->device = lg_device_open(o->driver, o->nvcc, o->cache_dir, &w->diags);
    bool ok = w->device != NULL;
    if (w->device && w == s->first) { // the others find it compiled
        lg_device_on_compile(w->device, tell_compiling, s);
    }
    for (int64_t i = 0; w->device && i < s->plan.n_kernels; i++) {
        ok = lg_device_prepare(w->device, s->plan.kernels[i], &w->diags) && ok;
    }
    return ok;
}

static void close_worker(worker *w) {
    if (w->device) {
        lg_device_close(w->device);
    }
    w->device = NULL;
}

static void *work(void *context) {
    worker *w = context;
    bool ok = w->device || open_worker(w);
    if (!ok) {
        pthread_mutex_lock(&w->session->lock);
        w->session->failed = true;
        pthread_cond_broadcast(&w->session->changed);
        pthread_mutex_unlock(&w->session->lock);
    } else {
        prove_columns(w);
        run_cases(w);
    }
    close_worker(w);
    return NULL;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_diag(const lg_diags *diags, const lg_diag *d) {
    for (size_t i = 0; i < diags->n; i++) {
        const lg_diag *other = &diags->items[i];
        if (other->line == d->line && other->column == d->column &&
            same_text(other->file, d->file) && same_text(other->message, d->message)) {
            return true;
        }
    }
    return false;
}

// Each error once: every point of a matrix and every worker may have met it.
static void merge_diags(lg_diags *into, lg_diags *from) {
    for (size_t i = 0; i < from->n; i++) {
        const lg_diag *d = &from->items[i];
        if (has_diag(into, d)) {
            continue;
        }
        lg_loc loc = {.file = d->file, .line = d->line, .column = d->column};
        lg_diags_add(into, d->severity, loc, d->source_line, "%s", d->message);
    }
    lg_diags_free(from);
}

// The calling thread is worker 0 and compiles what is missing before the others load it.
static void run_workers(session *s) {
    int n = s->options->jobs < 1 ? 1 : s->options->jobs;
    n = n > MAX_JOBS ? MAX_JOBS : n;
    n = n > s->plan.n_cases ? (int)s->plan.n_cases : n;
    worker *workers = lg_xcalloc((size_t)n, sizeof(*workers));
    for (int i = 0; i < n; i++) {
        workers[i].session = s;
    }
    s->first = &workers[0];
    if (open_worker(&workers[0])) {
        int n_threads = 0;
        for (int i = 1; i < n; i++, n_threads++) {
            if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
                break; // fewer workers do the same work
            }
        }
        work(&workers[0]);
        for (int i = 1; i <= n_threads; i++) {
            pthread_join(workers[i].thread, NULL);
        }
    } else {
        s->failed = true;
        close_worker(&workers[0]);
    }
    for (int i = 0; i < n; i++) {
        merge_diags(s->diags, &workers[i].diags);
    }
    free(workers);
}

static void begin(const session *s) {
    lg_run_info info = {.device = s->options->driver->name,
                        .n_cases = s->plan.n_cases,
                        .n_scenarios = s->plan.n_points,
                        .n_kernels = s->plan.n_kernels,
                        .command = s->options->repro_prefix};
    for (int i = 0; i < s->options->n_observers; i++) {
        const lg_observer *o = &s->options->observers[i];
        if (o->run_begun) {
            o->run_begun(o->context, &info);
        }
    }
}

static void end(const session *s) {
    for (int i = 0; i < s->options->n_observers; i++) {
        const lg_observer *o = &s->options->observers[i];
        if (o->run_ended) {
            o->run_ended(o->context, s->summary);
        }
    }
}

static void session_free(session *s) {
    for (int64_t i = 0; i < s->plan.n_columns; i++) {
        lg_arena_free(&s->columns[i].arena);
    }
    for (int64_t i = 0; i < s->plan.n_points; i++) {
        lg_point_free(&s->points[i].data);
    }
    for (int64_t i = 0; i < s->plan.n_cases; i++) {
        lg_case_run_free(&s->slots[i].run);
    }
    free(s->columns);
    free(s->points);
    free(s->slots);
    lg_tally_free(&s->tally);
    lg_plan_free(&s->plan);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

bool lg_session_run(const lg_session_options *options, lg_run_summary *summary, lg_diags *diags) {
    *summary = (lg_run_summary){0};
    size_t errors_before = diags->n_errors;
    session s = {.options = options, .summary = summary, .diags = diags};
    lg_plan_build(options, &s.plan);
    lg_tally_init(&s.tally, options, summary);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    s.columns = lg_xcalloc((size_t)s.plan.n_columns + 1, sizeof(*s.columns));
    s.points = lg_xcalloc((size_t)s.plan.n_points + 1, sizeof(*s.points));
    s.slots = lg_xcalloc((size_t)s.plan.n_cases + 1, sizeof(*s.slots));
    for (int64_t i = 0; i < s.plan.n_points; i++) {
        s.points[i].n_left = s.plan.points[i].n_cases;
    }
    begin(&s);
    if (s.plan.n_cases > 0) {
        run_workers(&s);
    }
    summary->n_planned = s.plan.n_cases;
    summary->n_done = s.told_cases;
    bool stop = options->stop && *options->stop;
    summary->interrupted = s.told_cases < s.plan.n_cases && (stop || !s.failed);
    lg_tally_end(&s.tally, options);
    end(&s);
    bool ok = !s.failed && diags->n_errors == errors_before;
    session_free(&s);
    return ok;
}
