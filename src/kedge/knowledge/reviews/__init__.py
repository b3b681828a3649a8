"""Reviews: parse a reviewer's answer, record it, and report the outcome to the next reviewer.

In reading order:

- `vocabulary`: results and severities, and the words reviewers use for them
- `records`: `Review`, `Finding` and `Claim`; record and read the reviews of a subject
- `findings`, `claims`: parse the findings and the verified claims in an answer
- `answer`: parse a whole answer, JSON or free text
- `outcome`: summarize the latest reviews for the next reviewer
"""
