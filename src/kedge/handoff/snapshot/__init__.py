"""Exact snapshots of the working tree, without a commit on the user's branch.

In reading order: `snapshots` is what other rooms call. `shadow_git` is a private git directory,
`tree_changes` compares two trees, `listing` has the paths of the working tree, `working_tree` the
tree that they make. `commits` keeps trees under `refs/kedge/`, `added_text` is what one adds to
another, and `restore` puts one back.
"""
