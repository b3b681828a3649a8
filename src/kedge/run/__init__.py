"""`kedge run`: an agent works on tasks, unattended, until kedge has proven them done.

One iteration, in the order in which to read it:

1. `loop`: choose a task, make attempts at it, stop at a limit.
2. `task_work`: begin the task, let each role take its turn, commit, settle the task's status.
3. `role_turn`: one role's turn: prompt, call the agent, prove, decide, record.
4. `agent_call`: start the agent and follow it to its end, within the limits.
5. `proof`: what kedge finds out about the tree that the agent left.
6. `decision`: what that comes to, as a pure function.

Around it, against an agent that does what it must not: `turn_guard` compares the repository before
and after each turn (`repository_guard`, `ref_guard`, `git_locks`). `check_definition`,
`git_programs` and `hidden_files` say what a proof must not rest on; `git_objects` verifies what is
committed.

A run that was killed is resumed from its `journal`: `recovery` finishes the records and
`interrupted_commit` what is left of a commit.

`run_state` holds what the steps share: options, limits, usage, the journal, the reason to stop.
`parallel` runs tasks in work trees, each as a run of its own.
"""
