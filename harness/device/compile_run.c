// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *const argv[], const char *cwd, int output, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    }
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    }
    if (!error && cwd) {
        error = posix_spawn_file_actions_addchdir_np(&actions, cwd);
    }
    if (!error) {
        error = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool lg_run_program(const char *const argv[], const char *cwd, lg_str *output, int *status) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = -1;
    int error = start(argv, cwd, ends[1], &pid);
    close(ends[1]);
    while (!error) {
        char chunk[8192];
        ssize_t n = read(ends[0], chunk, sizeof chunk);
        if (n > 0) {
            lg_str_add_n(output, chunk, (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    close(ends[0]);
    if (error) {
        errno = error;
        return false;
    }
    int raw;
    while (waitpid(pid, &raw, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    *status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    return true;
}
