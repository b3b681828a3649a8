"""`kedge demo`: a scripted agent at work in a scratch repository, watched by the real kedge.

    stage    the scratch directory, what is in it, and its end
    project  the little project that the agent works on
    script   what the agent does: the calls of its tools, and what it says
    agent    the program that `kedge run` starts; it plays the script through a client
    steps    the story: commands, the lines of their output that matter, and why

Every step is a command in a shell, the one that is shown. Nothing is told that its output does not
say.
"""
