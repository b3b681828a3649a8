"""Retros: gather all that is known about finished work, and apply what an agent learned from it.

In reading order:

- `subject`: what a retro is about: a feature, an epic or a task
- `commits`: the commits of the work
- `bundle`: gather all of it with the lessons to judge
- `answer`: the answer that an agent is asked for, parsed and checked
- `bundle_text`: the bundle as text for the agent
- `apply`: write the answer to the knowledge bank, all or nothing
"""
