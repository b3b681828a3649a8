"""What a hostile machine does to kedge: kills, full disks, damaged databases, hostile repositories.

`make faults` runs all of it and prints counts; each kind has a small seeded sample in the suite.
`tracer` kills before a system call, `world` is the scratch project, `commands` lists the commands
that write, and each further module is one kind of fault.
"""
