// kedge writes this file and `kedge update` refreshes it. It hands opencode's events to kedge's
// hook, and does what that answers. Whatever fails here, opencode goes on.
import { spawn } from "node:child_process";

const COMMAND = "@COMMAND@";
const WAIT = 10_000; // milliseconds
const READS = new Set(["read", "glob", "grep", "list", "lsp", "skill", "todoread", "todowrite"]);

// Return kedge's answer to an event; an empty one if there is none in time.
function ask(event) {
  return new Promise((resolve) => {
    try {
      const stdio = ["pipe", "pipe", "ignore"];
      const child = spawn(COMMAND, { shell: true, detached: true, stdio });
      let text = "";
      const late = setTimeout(() => {
        try { process.kill(-child.pid, "SIGKILL"); } catch {}
        resolve({});
      }, WAIT);
      const end = () => {
        clearTimeout(late);
        try { resolve(JSON.parse(text) ?? {}); } catch { resolve({}); }
      };
      child.on("error", end);
      child.on("close", end);
      child.stdin.on("error", () => {});
      child.stdout.on("data", (data) => { text += data; });
      child.stdin.end(JSON.stringify(event));
    } catch {
      resolve({});
    }
  });
}

class Denied extends Error {}

// Return hooks of which none fails, unless it denies a call.
function guard(hooks) {
  const safe = (hook) => async (...given) => {
    try {
      await hook(...given);
    } catch (error) {
      if (error instanceof Denied) throw error;
    }
  };
  return Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, safe(hook)]));
}

const contextOf = (answer) => answer.hookSpecificOutput?.additionalContext ?? "";

export const Kedge = async ({ directory }) => {
  const sessions = new Map();
  const pending = new Set();

  const know = (id) => {
    if (!sessions.has(id)) sessions.set(id, { parent: "", source: "resume", texts: [] });
    return sessions.get(id);
  };
  const send = (id, event) => {
    const { parent } = know(id);
    const who = parent ? { session_id: parent, agent_id: id } : { session_id: id };
    const asked = ask({ ...who, cwd: directory, ...event });
    pending.add(asked);
    return asked.finally(() => pending.delete(asked));
  };
  const anchor = async (id, source) => {
    const text = contextOf(await send(id, { hook_event_name: "SessionStart", source }));
    if (text) know(id).texts = [text];
  };

  return guard({
    event: async ({ event }) => {
      const about = event?.properties ?? {};
      if (event?.type === "session.created" && about.info?.id) {
        Object.assign(know(about.info.id), { parent: about.info.parentID ?? "", source: "startup" });
      } else if (event?.type === "session.idle" && sessions.has(about.sessionID)) {
        if (!know(about.sessionID).parent) send(about.sessionID, { hook_event_name: "Stop" });
      }
    },
    "chat.message": async (input, output) => {
      const session = know(input.sessionID);
      if (session.parent) return; // what an agent asks of its subagent
      if (session.source) {
        await anchor(input.sessionID, session.source);
        session.source = "";
      }
      const said = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = said.map((part) => part.text).join("\n");
      const text = contextOf(await send(input.sessionID, { hook_event_name: "UserPromptSubmit", prompt }));
      if (!text) return;
      const id = `prt_${Date.now().toString(16)}${Math.random().toString(16).slice(2, 14)}`;
      const of = { sessionID: input.sessionID, messageID: output.message.id };
      output.parts.push({ id, ...of, type: "text", text, synthetic: true });
    },
    // In every request, so that it outlives a compaction.
    "experimental.chat.system.transform": async (input, output) => {
      if (input.sessionID) output.system.push(...know(input.sessionID).texts);
    },
    "experimental.session.compacting": async (input) => {
      if (!know(input.sessionID).parent) await anchor(input.sessionID, "compact");
    },
    "tool.execute.before": async (input, output) => {
      const call = { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID };
      const answer = await send(input.sessionID, { hook_event_name: "PreToolUse", ...call });
      const { permissionDecision, permissionDecisionReason } = answer.hookSpecificOutput ?? {};
      if (permissionDecision === "deny") throw new Denied(permissionDecisionReason);
    },
    "tool.execute.after": async (input, output) => {
      if (READS.has(input.tool)) return;
      const call = { tool_name: input.tool, tool_input: input.args, tool_use_id: input.callID };
      const tool_response = { is_error: Boolean(output?.metadata?.exit) || output?.isError === true };
      const event = { hook_event_name: "PostToolUse", ...call, tool_response };
      const text = contextOf(await send(input.sessionID, event));
      if (!text) return;
      if (typeof output.output === "string") output.output += `\n\n${text}`;
      else if (Array.isArray(output.content)) output.content.push({ type: "text", text });
    },
    dispose: async () => {
      const main = [...sessions].filter(([, session]) => !session.parent && !session.source);
      await Promise.allSettled(pending);
      await Promise.allSettled(main.map(([id]) => send(id, { hook_event_name: "SessionEnd" })));
    },
  });
};
