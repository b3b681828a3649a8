"""Tasks in beads: `backend` talks to bd, `issue` reads its issues, `plan` says what to tell it."""
