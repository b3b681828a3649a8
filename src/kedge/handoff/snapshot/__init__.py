"""Exact snapshots of the working tree, without a commit on the user's branch.

In reading order: `snapshots` is what other rooms call. `shadow_git` is a private git directory,
`listing` the paths of the working tree, `file_contents` their bytes, `private_index` an index of
what was read before, `working_tree` the tree that they make. `commits` keeps trees under
`refs/kedge/`, `tree_changes` compares two of them, `added_text` is what one adds to another, and
`restore` puts one back.
"""
