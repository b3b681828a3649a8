"""Which paths the words of a limit stand for."""

from __future__ import annotations

from kedge.drift.limits.paths import covers, is_test


def test_subjects_and_paths() -> None:
    assert covers("src/auth", "src/auth/a.py") == 1
    assert covers("src/auth", "src/authors/a.py") == 0
    assert covers("theme.ts", "web/ui/theme.ts") == 1
    assert covers("*.d.ts", "types/a.d.ts") == 1
    assert covers("tests in src/a", "src/a/a_test.go") == 1
    assert covers("tests in src/a", "src/b/b_test.go") == 0
    assert covers("eslint config", ".eslintrc.json") == 1
    assert covers("user model", "app/models/user.rb") == 1
    assert covers("plugin loader in src/plugins", "src/plugins/load.go") == 1
    assert covers(".env", "web/.env.local") == 1
    assert covers(".env", ".environment") == 0
    assert covers("production settings", "config/settings/production.py") == 1
    assert covers("the wording", "src/wording.py") == 0
    assert is_test("src/__tests__/a.tsx")
    assert is_test("pkg/FooTest.java")
    assert not is_test("src/testimonials.py")
    assert not is_test("contest.py")
