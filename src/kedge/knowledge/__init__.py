"""What a project learns from its work: implementation log, reviews, knowledge bank, retros.

Sub-rooms, each importing only those above it:

- `bank`: lessons in Markdown pages: parse, edit, judge by age and anchors
- `recall`: the lessons that matter for a task or a change
- `log`: the implementation log: parse, check and append an implementer's report
- `reviews`: parse a reviewer's answer, record it, and report the outcome to the next reviewer
- `retro`: gather all that is known about finished work, and apply what an agent learned from it

`recall`, `log` and `reviews` do not import each other. They share `topic` (what a log or review is
about), `answer_json` (JSON in an agent's answer), `feature_folders` and `retro_records`.

Other rooms start from these modules:

- lessons: `bank.bank`, `bank.operations`, `bank.check`, `recall.selection`, `recall.reminder`
- log: `log.implementation_log`, `log.file_check`
- reviews: `reviews.records`, `reviews.answer`, `reviews.outcome`
- retro: `retro.subject`, `retro.bundle`, `retro.bundle_text`, `retro.apply`
"""
