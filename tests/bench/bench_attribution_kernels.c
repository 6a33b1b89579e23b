// SPDX-License-Identifier: Apache-2.0
// Measures how well broken kernels are told apart, on outputs that each kind would have returned.
// Exits 1 when a finding is certain (none may be) or a kind is named in no case.
//
//   bench_attribution_kernels [--cases N] [--seed S]
#include "attribute/attribute.h"
#include "attribution_kernels.h"
#include "support/strparse.h"

#include <inttypes.h>
#include <stdio.h>

enum { N_DECILES = 10 };

typedef struct measurement {
    int64_t n[N_BROKEN_KINDS];
    int64_t n_lead[N_BROKEN_KINDS];       // the right cause leads
    int64_t n_named[N_BROKEN_KINDS];      // or is among those named
    int64_t n_identified[N_BROKEN_KINDS]; // not ambiguous
    int64_t n_certain;
    int64_t found[N_BROKEN_KINDS][LG_N_CAUSES];
    int64_t decile_n[N_DECILES], decile_right[N_DECILES];
    double decile_sum[N_DECILES];
} measurement;

static void measure_one(measurement *m, broken *b, int kind) {
    lg_kernel kernel = {.name = "drawn", .family = b->batch->loss.kind, .policy = LG_POLICY_NAN};
    lg_attribute_input input = {.batch = b->batch,
                                .reference = &b->reference,
                                .kernel = &kernel,
                                .observation = &b->seen,
                                .result_wrong = true};
    lg_finding finding;
    lg_attribute(&input, &finding);
    lg_cause cause = broken_kinds[kind].cause;
    bool named = false;
    for (int i = 0; i < finding.n_named; i++) {
        named = named || finding.hypotheses[i].cause == cause;
    }
    m->n[kind]++;
    m->n_lead[kind] += finding.cause == cause;
    m->n_named[kind] += named;
    m->n_identified[kind] += finding.cause != LG_CAUSE_NONE && !finding.ambiguous;
    m->n_certain += finding.certain;
    m->found[kind][finding.cause]++;
    double top = finding.n_hypotheses > 0 ? finding.hypotheses[0].probability : 0;
    int decile = top >= 1 ? N_DECILES - 1 : (int)(top * N_DECILES);
    m->decile_n[decile]++;
    m->decile_right[decile] += finding.cause == cause;
    m->decile_sum[decile] += top;
    lg_finding_free(&finding);
}

static bool report(const measurement *m) {
    bool kept = m->n_certain == 0;
    int64_t n = 0;
    int64_t lead = 0;
    int64_t named = 0;
    printf("kind                         cases  leads    named    identified  found\n");
    for (int k = 0; k < N_BROKEN_KINDS; k++) {
        double all = (double)(m->n[k] > 0 ? m->n[k] : 1);
        printf("%-27s %6" PRId64 "  %5.1f %%  %5.1f %%  %5.1f %%    ", broken_kinds[k].name,
               m->n[k], 100 * (double)m->n_lead[k] / all, 100 * (double)m->n_named[k] / all,
               100 * (double)m->n_identified[k] / all);
        for (int c = 0; c < LG_N_CAUSES; c++) {
            if (m->found[k][c] > 0) {
                printf(" %s %" PRId64, lg_cause_name((lg_cause)c), m->found[k][c]);
            }
        }
        printf("\n");
        n += m->n[k];
        lead += m->n_lead[k];
        named += m->n_named[k];
        kept = kept && m->n_named[k] > 0;
    }
    printf("%" PRId64
           " cases: the right cause leads in %.1f %%, is named in %.1f %%; certain %" PRId64
           "\n\nstated        findings     mean     right\n",
           n, 100 * (double)lead / (double)n, 100 * (double)named / (double)n, m->n_certain);
    for (int i = 0; i < N_DECILES; i++) {
        double all = (double)m->decile_n[i];
        if (m->decile_n[i] > 0) {
            printf("%3d..%3d %%   %9" PRId64 "   %5.1f %%   %5.1f %%\n", i * 10, i * 10 + 10,
                   m->decile_n[i], 100 * m->decile_sum[i] / all,
                   100 * (double)m->decile_right[i] / all);
        }
    }
    return kept;
}

int main(int argc, char **argv) {
    int64_t cases = 16000;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool fine = (strcmp(argv[i], "--cases") == 0 && lg_parse_i64(value, &cases)) ||
                    (strcmp(argv[i], "--seed") == 0 && lg_parse_u64(value, &seed));
        if (!fine || cases < N_BROKEN_KINDS) {
            fprintf(stderr, "usage: bench_attribution_kernels [--cases N] [--seed S]\n");
            return 2;
        }
    }
    static measurement m;
    static draw d;
    int64_t index = 0;
    for (int kind = 0; kind < N_BROKEN_KINDS; kind++) {
        for (int64_t done = 0; done < cases / N_BROKEN_KINDS; index++) {
            broken b;
            lg_diags diags = {0};
            if (draw_broken(&b, &d, seed, index, kind, &diags)) {
                measure_one(&m, &b, kind);
                done++;
            }
            broken_free(&b);
            lg_diags_free(&diags);
        }
    }
    return report(&m) ? 0 : 1;
}
