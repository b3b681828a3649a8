# Anchor a session with kedge, unless the settings call kedge already, which does the same.
cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
settings="${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"
ours="kedge(/hook\.py[\"'\\]*| hook) +claude"
if grep -qsE "$ours" .claude/settings.local.json .claude/settings.json "$settings"; then
  exit 0
fi
if ! command -v kedge >/dev/null; then
  echo '{"systemMessage": "kedge is not on PATH, so nothing anchors this session"}'
  exit 0
fi
exec kedge hook claude
