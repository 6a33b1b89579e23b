// SPDX-License-Identifier: Apache-2.0
// The program's own header: verbs, what the command line said, and what several verbs share.
//
// Only this layer prints and decides the exit status.
#ifndef LG_CLI_CLI_H
#define LG_CLI_CLI_H

#include "engine/driver/driver.h"
#include "manifest/manifest.h"
#include "result/observer.h"
#include "scenario/scenario.h"
#include "support/error.h"

enum lg_exit {
    LG_EXIT_OK = 0,
    LG_EXIT_NOT_EXPECTED = 1,
    LG_EXIT_USAGE = 2,
    LG_EXIT_NOTHING_PROVEN = 3,
    LG_EXIT_INTERNAL = 4,
    LG_EXIT_SIGNAL = 128, // and the number of the signal that ended a run early
};

// A bit a verb, so that an option can belong to several.
enum lg_verb_index {
#define LG_VERB(id, name, arguments, help, more) LG_VERB_INDEX_##id,
#include "cli/verbs.def"
#undef LG_VERB
    LG_N_VERBS
};

typedef enum lg_verb {
#define LG_VERB(id, name, arguments, help, more) LG_VERB_##id = 1 << LG_VERB_INDEX_##id,
#include "cli/verbs.def"
#undef LG_VERB
} lg_verb;

// What the command line said. Strings are borrowed from argv; lists are freed by lg_cli_free.
typedef struct lg_cli {
    lg_verb verb;
    lg_str_list words; // arguments that are no options
    lg_str_list kernel_globs, mode_globs;
    lg_str_list kernel_paths, allow_paths;
    bool has_seed;
    uint64_t seed;
    int jobs; // 0: not given
    const char *out, *root, *nvcc, *cache, *device, *only_case, *sarif, *dtype, *target, *scenario;
    bool verbose, compile, schema, reference_page;
    const char *targets, *logits, *weight; // diagnose; its counts are 0 when they are not given
    const char *loss;                      // diagnose
    int64_t head_width, classes, ignore_index;
    bool has_ignore_index;
} lg_cli;

// Parses the words after the verb; argv[0] is what usage messages call the program ("lossgate
// run"). Ends the process for --help (0) and for a usage error (2).
void lg_cli_parse(lg_verb verb, int argc, char **argv, lg_cli *cli);
void lg_cli_free(lg_cli *cli);

// One function a verb; each returns the exit status.
int lg_verb_run(const lg_cli *cli);
int lg_verb_list(const lg_cli *cli);
int lg_verb_check(const lg_cli *cli);
int lg_verb_reference(const lg_cli *cli);
int lg_verb_asm(const lg_cli *cli);
int lg_verb_diagnose(const lg_cli *cli);
int lg_verb_explain(const lg_cli *cli);
int lg_verb_replay(const lg_cli *cli);
int lg_verb_shrink(const lg_cli *cli);
int lg_verb_guards(const lg_cli *cli);

// `lossgate run` with one observer more (NULL: none).
int lg_run_observed(const lg_cli *cli, const lg_observer *more);

// The scenario files a command line means, read.
typedef struct lg_scenarios {
    int64_t n;
    lg_scenario_set *sets; // one a file
    char *root;            // what names are relative to when that had to be chosen, or NULL
} lg_scenarios;

// Reads all files of the paths (none: the project's scenarios). All errors of all files; false when
// there was one.
bool lg_scenarios_load(const lg_cli *cli, const lg_str_list *paths, lg_scenarios *out,
                       lg_diags *diags);
void lg_scenarios_free(lg_scenarios *scenarios);
bool lg_kernels_load(const lg_cli *cli, lg_kernel_set *set, lg_diags *diags);

// Files ending in .yaml or .yml under `argument` (a path, see lg_input_path), sorted, appended to
// `files` (malloc'd strings). A file is itself. A walk leaves out folders that hold a file
// .lossgate-skip and hidden ones; `recursive` false: the folder itself only. false with an error
// when the path cannot be read.
bool lg_collect_yaml(const char *argument, bool recursive, lg_str_list *files, lg_diags *diags);
void lg_str_list_add(lg_str_list *list, const char *item);
void lg_file_list_free(lg_str_list *files); // with its strings

// The project's own folder `name` ("scenarios", "kernels"), of the installed program or the source
// tree: relative when that is where we are. malloc'd.
char *lg_project_path(const char *name);
// A path of the command line: as it is, or the project's own file of that name where there is none
// here (`scenarios/smoke` works in every folder). malloc'd.
char *lg_input_path(const char *argument);
// Kernels from elsewhere find lossgate_record.cuh, behind their own folders.
void lg_add_kernel_headers(lg_kernel_set *set);
const char *lg_cli_nvcc(const lg_cli *cli);
char *lg_cli_cache(const lg_cli *cli); // malloc'd

// A line on a terminal's stderr that says how far the run is; does nothing in a pipe.
lg_observer lg_progress_open(void);
void lg_progress_close(lg_observer *observer);

// Writes a bundle (cli/bundle.h) to DIR/cases/<id>/ for each case that was not as expected.
lg_observer lg_evidence_open(const char *dir, lg_diags *diags);
void lg_evidence_close(lg_observer *observer);

// mkdir -p; false with an error in `diags`.
bool lg_make_folder(const char *path, lg_diags *diags);
// Keeps every other run out of a folder until *lock is closed or the process ends; false with an
// error when another run is in it (*lock is -1 then).
bool lg_lock_folder(const char *folder, int *lock, lg_diags *diags);

#endif
