"""Retros: gather all that is known about finished work, and apply what an agent learned from it.

In reading order:

- `subject`: what a retro is about: a feature, an epic or a task
- `commits`, `handoffs`: the commits of the work, and the archived records of its handoffs
- `bundle`: gather all of it with the lessons to judge
- `answer`: the answer that an agent is asked for, parsed and checked
- `bundle_text`: the bundle as text for the agent
- `apply`: write the answer to the knowledge bank, all or nothing
"""
