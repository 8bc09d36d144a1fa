/* SPDX-License-Identifier: BSD-3-Clause */
/* Subcommands of the program. Each takes argv from its own name on and returns an exit code. */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

int cmd_arm(int argc, char **argv);
int cmd_connect(int argc, char **argv);
int cmd_coverage(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_feedback(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_probes(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_timeline(int argc, char **argv);

#endif
