"""A design, a plan and a spec for the tests of references."""

from __future__ import annotations

from kedge.features.artifact import build_lexicon, parse_artifact

DESIGN = """\
# Design
## Overview
## Components
### C1: Store
### C10: Notices
### Component 2: Cache
#### Keys
#### Error handling and retries
### C-3 — Queue (AC-9)
### 🚦 Component D: Service-Limiter
## Token bucket
## 4. Decisions
### TD-1: Redis
### 4.2 Rollout
- **D7: Small steps** first
  more of it
- **D8:** all at once
| Id | Choice |
|---|---|
| DD-2 | closures |
**E1 Limits.** They hold.

Still E1.

**E2 Quotas.** They do not.
## Lexer [DC-1]
"""
PLAN = """\
# Plan
## Phase 1: Dock
### Step 1.1: Tie
### Step 1.2: Cast
### Step 1.20: Late
## Phase 2: Go
### Step 1: Sail
### Step 2: Land
### 1A: Rope
## Risks
- **Step 9:** may be late
"""
SPEC = "# Spec\n- **AC-4:** it holds\n### 2.2 Safe\n"
ALL = [
    parse_artifact("design", "design.md", DESIGN),
    parse_artifact("plan", "plan.md", PLAN),
    parse_artifact("spec", "spec.md", SPEC),
]
KNOWN = build_lexicon(ALL)
BY_TYPE = {one.type: one for one in ALL}
